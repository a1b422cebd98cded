"""The state of fine-tuning after an epoch, in a file from which an interrupted run goes on with the same results."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from nonproj.errors import ModelError
from nonproj.model import container

if TYPE_CHECKING:
    from nonproj.learning.encoders.training import EncoderLearner

_KNOWN = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW knows of each parameter that has had a gradient."""

_NOISE = "noise"

log = logging.getLogger("nonproj")


def save(learner: EncoderLearner, epochs: int, path: Path, training: str) -> None:
    """Write the state after some epochs: trained parameters, the optimiser's moments, and that of random numbers.

    ``training`` is a digest of what is learnt, and from what.
    """
    arrays = {}
    for i, parameter in enumerate(_parameters(learner)):
        for name, tensor in {"value": parameter.detach(), **learner.optimiser.state[parameter]}.items():
            arrays[f"{i}.{name}"] = tensor.cpu().numpy()
    arrays[_NOISE] = _noise(learner.device).numpy()
    container.write(path, {"epochs": epochs, "step": learner.step, "training": training}, arrays)


def restore(learner: EncoderLearner, path: Path, training: str) -> int:
    """Give a learner the state of a file, if there is one of the same training; return the number of epochs done.

    Raises
    ------
    ModelError
        The file is damaged, or not that of such a learner.
    """
    if not path.exists():
        return 0
    (values, arrays), parameters = container.read(path, verified=True), _parameters(learner)
    if values.get("training") != training:
        log.info("%s is of another training; the encoder is trained from its start", path)
        return 0
    noise, epochs, step = arrays.pop(_NOISE, None), values.get("epochs"), values.get("step")
    expected = {f"{i}.value": tuple(parameter.shape) for i, parameter in enumerate(parameters)}
    for i, parameter in enumerate(parameters):
        if f"{i}.step" in arrays:
            expected |= {f"{i}.{name}": () if name == "step" else tuple(parameter.shape) for name in _KNOWN}
    sound = noise is not None and noise.dtype == np.uint8
    sound &= all(array.dtype == np.float32 for array in arrays.values())
    sound &= {name: array.shape for name, array in arrays.items()} == expected
    if not sound or type(epochs) is not int or type(step) is not int:
        raise ModelError(
            f"{path}: not the state of this encoder's training; remove it to train the encoder from its start"
        )
    with torch.no_grad():
        for i, parameter in enumerate(parameters):
            parameter.copy_(torch.from_numpy(arrays[f"{i}.value"]))
            if f"{i}.step" in arrays:
                known = {name: torch.from_numpy(arrays[f"{i}.{name}"]).to(parameter.device) for name in _KNOWN}
                learner.optimiser.state[parameter] = known
    learner.step = step
    _set_noise(learner.device, torch.from_numpy(noise))
    log.info("resuming after epoch %d of the encoder", epochs)
    return epochs


def _parameters(learner: EncoderLearner) -> list[torch.Tensor]:
    """Return the parameters in their order."""
    return [parameter for group in learner.parameters for parameter in group]


def _noise(device: torch.device) -> torch.Tensor:
    """Return the state of the random numbers of a device."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_noise(device: torch.device, state: torch.Tensor) -> None:
    """Set the state of the random numbers of a device; one of another kind of device is ignored."""
    if state.shape == _noise(device).shape:
        torch.cuda.set_rng_state(state, device) if device.type == "cuda" else torch.set_rng_state(state)
