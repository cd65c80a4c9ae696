// Rows that are selected: one mask for all views; null for none.
export class Selection {
  constructor() {
    this.mask = null;
    this.size = 0;
    this.owner = null; // the view that is selecting
    this.listeners = [];
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  set(mask) {
    this.mask = mask;
    this.size = 0;
    if (mask) for (let i = 0; i < mask.length; i++) this.size += mask[i];
    for (const listener of this.listeners) listener(this);
  }

  clear() {
    this.set(null);
  }
}
