// What a type checker has to know of the page beside its scripts: all elements are HTML elements, and so are targets of events.

interface Element {
  readonly dataset: DOMStringMap;
  disabled: boolean;
  hidden: boolean;
  tabIndex: number;
  focus(options?: FocusOptions): void;
}

interface EventTarget {
  closest(selectors: string): any;
}
