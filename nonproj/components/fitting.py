"""Fitting one component: here, or in a copy of this process while later ones are fitted here."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

from nonproj.components.base import Component, FitContext, UnfinishedFit
from nonproj.learning.corpus import Corpus
from nonproj.linear.state import Fitted
from nonproj.model.model import Model
from nonproj.workers.copies import Copy

log = logging.getLogger("nonproj")


def fit_component(
    component: type[Component], corpus: Corpus, context: FitContext, saved: Model | None = None
) -> tuple[Corpus, FitContext]:
    """Fit a component, or take it from a checkpoint; return the corpus and the context for later ones."""
    began = time.perf_counter()
    fitted = component.resume(saved, corpus, context) if saved else component.fit(corpus, context)
    if type(fitted) is not Fitted and not saved:
        seconds = time.perf_counter() - began
        log.info("%s: %.1f s", component.name, seconds, extra={"component": component.name})
    context = context.with_fitted(component.name, fitted).having(unfinished=UnfinishedFit())
    return component.extend(corpus, context, saved), context


class ParallelFits:
    """Components that are fitted in copies of this process while later ones are fitted here; a context manager.

    No component fitted meanwhile needs them.

    Attributes
    ----------
    copies : dict of str to Copy
        Processes of the components that are being fitted, by name.
    """

    def __init__(self) -> None:
        self.copies: dict[str, Copy[tuple[Fitted, dict[str, Any]]]] = {}
        self._fitted: dict[str, Fitted] = {}

    def __enter__(self) -> ParallelFits:
        return self

    def __exit__(self, *_: object) -> None:
        for copy in self.copies.values():
            copy.end()

    def begins(self, component: type[Component], corpus: Corpus, context: FitContext) -> bool:
        """Start to fit a component in a copy of this process; return False if it is to be fitted in its turn here."""
        if not component.parallel or context.run.jobs == 1 or corpus.held_out:
            return False
        alone = context.having(run=dataclasses.replace(context.run, jobs=1))
        copy = Copy(partial(_fit_apart, component, corpus, alone))
        if copy.begun:
            self.copies[component.name], self._fitted[component.name] = copy, Fitted()
        return copy.begun

    def gathered(self, context: FitContext, wait: bool = False) -> FitContext:
        """Return a context with the components that are fitted, or, with ``wait``, with all of them."""
        for name, copy in list(self.copies.items()):
            if wait or copy.is_ready():
                self._fitted[name], figures = copy.result(partial(_waiting, context, name))
                copy.end()
                del self.copies[name]
                context.meta.update(figures)
        return context.having(fitted={**context.fitted, **self._fitted})


def _waiting(context: FitContext, name: str, items: Iterable[None]) -> Iterable[None]:
    return context.progress(items, name)


def _fit_apart(component: type[Component], corpus: Corpus, context: FitContext) -> tuple[Fitted, dict[str, Any]]:
    """Return a component that has been fitted, and the figures that it adds to the training history."""
    _, context = fit_component(component, corpus, context)
    return context.fitted[component.name], {
        name: context.meta[name] for name in component.figures if name in context.meta
    }
