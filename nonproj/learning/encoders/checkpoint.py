"""The state of fine-tuning after an epoch, from which an interrupted run continues with the same results."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from nonproj.errors import ModelError
from nonproj.linear.state import State

_KNOWN = ("step", "exp_avg", "exp_avg_sq")
"""The state of AdamW for each parameter that has had a gradient."""

_NOISE = "noise"

log = logging.getLogger("nonproj")


def state_of(parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer, epochs: int, step: int) -> State:
    """Return the state after some epochs: parameters, the optimiser's moments, and the random number generator."""
    arrays = {}
    for i, parameter in enumerate(parameters):
        for name, tensor in {"value": parameter.detach(), **optimiser.state[parameter]}.items():
            arrays[f"{i}.{name}"] = tensor.cpu().numpy()
    arrays[_NOISE] = _noise(parameters[0].device).numpy()
    return {"epochs": epochs, "step": step}, arrays


def restore(
    parameters: Sequence[torch.Tensor],
    optimiser: torch.optim.Optimizer,
    values: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
) -> tuple[int, int]:
    """Write a state into the parameters and their optimiser; return the numbers of epochs and steps done.

    Raises
    ------
    ModelError
        The state does not fit the parameters.
    """
    arrays, device = dict(arrays), parameters[0].device
    noise, epochs, step = arrays.pop(_NOISE, None), values.get("epochs"), values.get("step")
    expected = {f"{i}.value": tuple(parameter.shape) for i, parameter in enumerate(parameters)}
    for i, parameter in enumerate(parameters):
        if f"{i}.step" in arrays:
            expected |= {f"{i}.{name}": () if name == "step" else tuple(parameter.shape) for name in _KNOWN}
    sound = noise is not None and noise.dtype == np.uint8
    sound &= all(array.dtype == np.float32 for array in arrays.values())
    sound &= {name: array.shape for name, array in arrays.items()} == expected
    if not sound or type(epochs) is not int or type(step) is not int:
        raise ModelError("it is not the state of this encoder's training")
    with torch.no_grad():
        for i, parameter in enumerate(parameters):
            parameter.copy_(torch.from_numpy(arrays[f"{i}.value"]))
            if f"{i}.step" in arrays:
                known = {name: torch.from_numpy(arrays[f"{i}.{name}"]).to(device) for name in _KNOWN}
                optimiser.state[parameter] = known
    _set_noise(device, torch.from_numpy(noise))
    log.info("resuming after epoch %d of the encoder", epochs)
    return epochs, step


def _noise(device: torch.device) -> torch.Tensor:
    """Return the state of a device's random number generator."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_noise(device: torch.device, state: torch.Tensor) -> None:
    """Set the state of a device's random number generator; that of another kind of device is ignored."""
    if state.shape == _noise(device).shape:
        torch.cuda.set_rng_state(state, device) if device.type == "cuda" else torch.set_rng_state(state)
