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

// The modules of nonproj that the page is joined with.
type Tree = typeof import("../../../../nonproj/pictures/tree.js");
declare const FORM: Tree["FORM"], TIP: Tree["TIP"], arcPath: Tree["arcPath"], chooseSize: Tree["chooseSize"], drawTree: Tree["drawTree"];
declare const shape: Tree["shape"], textWidth: Tree["textWidth"], visible: Tree["visible"];
type Certificate = typeof import("../../../../nonproj/pictures/certificate.js");
declare const coveredArcs: Certificate["coveredArcs"], showCertificate: Certificate["showCertificate"];
declare const nextTheme: typeof import("../../../../nonproj/pictures/theme.js").nextTheme;
