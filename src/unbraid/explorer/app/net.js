// Requests to the server of this page: every one carries the token, none names a file.
const token = new URLSearchParams(location.search).get("token") || "";
const MOST_COLUMNS = 96;
const columns = new Map();

async function request(path, parameters = {}, options = {}) {
  const query = new URLSearchParams(parameters).toString();
  let answer;
  try {
    answer = await fetch(`/api/${path}${query ? `?${query}` : ""}`, {
      ...options,
      headers: { "x-unbraid-token": token, ...(options.headers || {}) },
    });
  } catch {
    throw new Error("The server has stopped; start unbraid explore again.");
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

export async function ask(path, parameters) {
  return (await request(path, parameters)).json();
}

export async function post(path, body, options = {}) {
  const headers = { "content-type": "application/json" };
  return (await request(path, {}, { method: "POST", body: JSON.stringify(body), headers, ...options })).arrayBuffer();
}

// One code or factor of all rows that are drawn; the last ones asked for are kept.
export function column(id, [of, index]) {
  const key = `${id} ${of} ${index}`;
  let found = columns.get(key);
  if (found) {
    columns.delete(key);
  } else {
    found = request("column", { id, of, index })
      .then((answer) => answer.arrayBuffer())
      .then((bytes) => new Float32Array(bytes));
    found.catch(() => columns.delete(key));
  }
  columns.set(key, found);
  if (columns.size > MOST_COLUMNS) columns.delete(columns.keys().next().value);
  return found;
}

export function address(path, parameters) {
  return `/api/${path}?${new URLSearchParams({ ...parameters, token })}`;
}
