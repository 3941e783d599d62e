# Part of Attune, under the Apache License v2.0 with LLVM Exceptions; see LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spaces as other search engines write them: OpenTuner, Optuna, Nevergrad.

Every knob becomes the engine's own parameter of the same kind: a power of two, an
integer, a boolean, a choice, a permutation. Engines know no constraints: `repair`
moves a proposal to the nearest valid configuration before anything is run, so that
what is invalid costs no evaluation; `is_valid` is for engines that take a "no".

    space, default = attune.space(case, expert)
    configuration = engines.from_optuna(space, trial)     # suggested, repaired
"""

from __future__ import annotations

from typing import Any, Mapping

from ._native import Knob, Space


def repair(space: Space, wish: Mapping[str, Any]) -> dict[str, Any]:
    """The wish itself where it is valid, else the nearest valid configuration.
    Knobs that do not exist with these values are left out."""
    return space.nearest(dict(wish))


def is_valid(space: Space, wish: Mapping[str, Any]) -> bool:
    return dict(wish) in space


def _is_dense(knob: Knob) -> tuple[int, int, int] | None:
    """first, last and step of an integer knob whose values are evenly spaced."""
    if knob.type != "integer":
        return None
    step = knob[1] - knob[0] if len(knob) > 1 else 1
    if knob[-1] != knob[0] + step * (len(knob) - 1) or step < 1:
        return None
    if len(knob) <= 4096 and any(knob[i] != knob[0] + i * step for i in range(len(knob))):
        return None
    return knob[0], knob[-1], step


# OpenTuner ---------------------------------------------------------------------


def opentuner_manipulator(space: Space) -> Any:
    """An OpenTuner ConfigurationManipulator: PowerOfTwoParameter, IntegerParameter
    (of evenly spaced integers, and of places in a list of numbers), BooleanParameter,
    EnumParameter and PermutationParameter."""
    from opentuner.search import manipulator
    made = manipulator.ConfigurationManipulator()
    for knob in space.knobs:
        made.add_parameter(_opentuner_parameter(knob, manipulator))
    return made


def _opentuner_parameter(knob: Knob, manipulator: Any) -> Any:
    if knob.type == "permutation":
        return manipulator.PermutationParameter(knob.name, list(range(knob.length)))
    if knob.type == "boolean":
        return manipulator.BooleanParameter(knob.name)
    if knob.type == "choice":
        return manipulator.EnumParameter(knob.name, knob.values)
    if knob.is_power_of_two and len(knob) > 1:
        return manipulator.PowerOfTwoParameter(knob.name, knob[0], knob[-1])
    dense = _is_dense(knob)
    if dense and dense[2] == 1:
        return manipulator.IntegerParameter(knob.name, dense[0], dense[1])
    return manipulator.IntegerParameter(knob.name, 0, len(knob) - 1)  # its place


def from_opentuner(space: Space, data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an OpenTuner configuration, repaired."""
    wish = {}
    for knob in space.knobs:
        value = data[knob.name]
        if knob.type == "permutation":
            value = [int(element) for element in value]
        elif knob.type == "boolean":
            value = bool(value)
        elif knob.type in ("integer", "float"):
            dense = _is_dense(knob)
            as_itself = (knob.is_power_of_two and len(knob) > 1) or (dense is not None and dense[2] == 1)
            value = int(value) if as_itself else knob[int(value)]
        wish[knob.name] = value
    return repair(space, wish)


def to_opentuner(space: Space, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as the data of OpenTuner's: for seed_configurations. A knob
    that it does not have gets its first value."""
    data = {}
    for knob in space.knobs:
        value = configuration.get(knob.name, knob[0])
        if knob.type in ("integer", "float"):
            dense = _is_dense(knob)
            as_itself = (knob.is_power_of_two and len(knob) > 1) or (dense is not None and dense[2] == 1)
            value = value if as_itself else knob.index(value)
        data[knob.name] = value
    return data


# Optuna ------------------------------------------------------------------------


def from_optuna(space: Space, trial: Any) -> dict[str, Any]:
    """Suggests every knob (integers, logarithmic where they are powers of two;
    categories; a permutation by a number for each element) and repairs. What is run is kept as the trial's user
    attribute `configuration`."""
    chosen = repair(space, {knob.name: _optuna_value(knob, trial) for knob in space.knobs})
    trial.set_user_attr("configuration", chosen)
    return chosen


def _optuna_value(knob: Knob, trial: Any) -> Any:
    if knob.type == "permutation":
        places = [trial.suggest_float(f"{knob.name}[{i}]", 0, 1) for i in range(knob.length)]
        return sorted(range(knob.length), key=lambda i: (places[i], i))
    if knob.type in ("boolean", "choice"):
        return trial.suggest_categorical(knob.name, knob.values)
    if knob.is_power_of_two:
        return 1 << trial.suggest_int(knob.name, knob[0].bit_length() - 1, knob[-1].bit_length() - 1)
    dense = _is_dense(knob)
    if dense:
        return trial.suggest_int(knob.name, dense[0], dense[1], step=dense[2])
    return knob[trial.suggest_int(knob.name, 0, len(knob) - 1)]  # its place


# Nevergrad ---------------------------------------------------------------------


def nevergrad_parametrization(space: Space) -> Any:
    """A Nevergrad Dict: TransitionChoice of ordered values, Choice of the others, and
    for a permutation a number for each element."""
    import nevergrad
    made = {}
    for knob in space.knobs:
        if knob.type == "permutation":
            made[knob.name] = nevergrad.p.Array(shape=(knob.length,))
        elif knob.type in ("boolean", "choice"):
            made[knob.name] = nevergrad.p.Choice(knob.values)
        else:
            made[knob.name] = nevergrad.p.TransitionChoice(knob.values)
    return nevergrad.p.Dict(**made)


def from_nevergrad(space: Space, value: Mapping[str, Any]) -> dict[str, Any]:
    """The value of a Nevergrad candidate, repaired."""
    wish = {}
    for knob in space.knobs:
        given = value[knob.name]
        if knob.type == "permutation":
            given = sorted(range(knob.length), key=lambda i: (float(given[i]), i))
        wish[knob.name] = given
    return repair(space, wish)
