// Rows that are selected: one mask for all views; null for none.
export class Selection {
  constructor() {
    this.mask = null;
    this.size = 0;
    this.about = "";
    this.listeners = [];
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  set(mask, about = "") {
    this.mask = mask;
    this.size = 0;
    if (mask) for (let i = 0; i < mask.length; i++) this.size += mask[i];
    this.about = about;
    for (const listener of this.listeners) listener(this);
  }

  clear() {
    this.set(null);
  }
}
