// Work that goes on: asked for again and again, until it has ended, its view is closed or the server has stopped.
import { ask } from "app/net";

const WAIT = 2000;

// Shows the answer now and, while work goes on, after every wait.
export async function follow(view, path, show, fail) {
  const found = await ask(path);
  if (!view.isConnected) return;
  show(found);
  if (found.watching) setTimeout(() => follow(view, path, show, fail).catch((error) => fail(error.message)), WAIT);
}
