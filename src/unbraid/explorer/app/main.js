// The shell: which model, which view, which theme.
import { ask } from "app/net";
import { make, options } from "app/dom";
import { Compare } from "app/compare";
import { Decoder } from "app/decoder";
import { Look } from "app/look";
import { Run } from "app/run";
import { Saved } from "app/saved";
import { Scoring } from "app/scoring";
import { Study } from "app/study";

const content = document.getElementById("content");
const tabs = document.getElementById("tabs");
const model = document.getElementById("model");
const notes = document.getElementById("notes");
const theme = document.getElementById("theme");
const state = { session: null, subject: null, view: "", open: null, row: null };

const VIEWS = {
  study: { title: "Study", there: () => state.session.has_study },
  run: { title: "Training", there: () => state.session.has_run },
  scoring: { title: "Scoring", there: () => state.session.has_scoring },
  look: { title: "Codes and factors", there: () => state.subject?.n_rows > 0 },
  saved: { title: "Report", there: () => state.subject?.has_report && !state.subject.n_rows },
  decoder: { title: "Decoder", there: () => Boolean(state.subject?.decoder) },
  compare: { title: "Compare", there: () => state.session.subjects.length > 1 },
};

function fail(error) {
  notes.hidden = false;
  notes.textContent = error.message;
}

function tell(sentences) {
  notes.hidden = !sentences.length;
  notes.textContent = sentences.join(" ");
}

async function openSubject(id, view) {
  state.subject = id ? await ask("subject", { id }) : null;
  if (id) model.value = id;
  tell(state.subject?.notes || []);
  const possible = Object.keys(VIEWS).filter((name) => VIEWS[name].there());
  await show(possible.includes(view) ? view : possible.includes(state.view) ? state.view : possible[0]);
}

async function show(view) {
  state.view = view;
  tabs.replaceChildren(
    ...Object.entries(VIEWS)
      .filter(([, one]) => one.there())
      .map(([name, one]) =>
        make("button", { type: "button", text: one.title, "aria-current": name === view ? "page" : null, onclick: () => show(name) }),
      ),
  );
  tabs.hidden = tabs.children.length < 2;
  state.open?.stop?.();
  state.open = null;
  content.replaceChildren();
  document.documentElement.dataset.view = view || "";
  if (!view) return;
  try {
    const made = await VIEWS[view].make();
    state.open = made;
    content.replaceChildren(made.root);
    await made.start();
  } catch (error) {
    fail(error);
  }
}

VIEWS.look.make = () =>
  new Look(state.subject, {
    onDecode: (row) => {
      state.row = row;
      show("decoder");
    },
  });

VIEWS.saved.make = () => new Saved(state.subject);
VIEWS.decoder.make = () => new Decoder(state.subject, { row: state.row });

VIEWS.study.make = () => new Study({ onOpen: (id) => openSubject(id, "look").catch(fail) });
VIEWS.run.make = () => new Run({ onOpen: (id) => openRun(id).catch(fail) });
VIEWS.scoring.make = () => new Scoring();
VIEWS.compare.make = () => new Compare(state.session.subjects, state.subject?.id ?? state.session.subjects[0].id);

// Members of a run that is going on may have come since the page was opened.
async function openRun(id) {
  await readSession(id);
  await openSubject(id, "decoder");
}

function setTheme(dark, kept = true) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  theme.textContent = dark ? "Light theme" : "Dark theme";
  if (kept) remember(dark ? "dark" : "light");
  state.open?.recolour?.();
}

// In the frame of a notebook, a browser may refuse to keep anything.
function remember(name) {
  try {
    sessionStorage.setItem("theme", name);
  } catch {
    // the system's theme is taken again next time
  }
}

function remembered() {
  try {
    return sessionStorage.getItem("theme");
  } catch {
    return null;
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(remembered() ? remembered() === "dark" : system.matches, false);
system.addEventListener("change", () => {
  if (!remembered()) setTheme(system.matches, false);
});
theme.addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
model.addEventListener("change", () => openSubject(model.value, state.view).catch(fail));

async function readSession(chosen) {
  state.session = await ask("session");
  const { title, subjects } = state.session;
  document.getElementById("title").textContent = title;
  document.title = `${title} – Unbraid explorer`;
  options(model, subjects.map(({ id, label }) => ({ value: id, label })), chosen);
  document.getElementById("picker").hidden = subjects.length < 2;
}

async function start() {
  await readSession("m0");
  const { subjects, has_study: hasStudy, has_run: hasRun, has_scoring: hasScoring, watching } = state.session;
  if (hasStudy || (hasRun && watching)) {
    await show(hasStudy ? "study" : "run");
    return;
  }
  await openSubject(subjects[0]?.id, hasScoring ? "scoring" : "look");
}

// What a view asks for later, and does not get, is said above it.
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason);
});
start().catch(fail);
