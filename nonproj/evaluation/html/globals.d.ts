// What a type checker has to know beside the scripts: all elements, and all targets of events, are HTML elements.

interface Element {
  readonly dataset: DOMStringMap;
}

interface EventTarget {
  id?: any;
  value?: any;
  blur(): void;
  closest?: any;
  matches?: any;
}

interface Event {
  key?: any;
}
