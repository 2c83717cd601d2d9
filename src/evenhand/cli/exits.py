"""How a command ends: one number for each way, the same for every command.

=====  ==============================================================================================================
0      done, and the answer is yes
1      the answer is no: no mapping meets the bounds, a file does not stand, a number is not the reference,
       a batch has what monitor is to fail on
2      the command line is wrong: an unknown command or option, a value that an option does not take
3      something given is wrong: the problem, the table, a file that cannot be read, an output that cannot be written;
       or there is not enough memory
4      no answer: the solver gave up, or the time limit came first
5      a package is needed that is not installed
70     something that evenhand did not expect, a defect of its own; the message asks to report it
130    interrupted
141    whoever read the output closed it before its end
143    told to stop (SIGTERM)
=====  ==============================================================================================================
"""

from __future__ import annotations

from enum import IntEnum

from evenhand.errors import EvenhandError, InfeasibleError, MissingExtraError, SolverError, VerificationError


class Exit(IntEnum):
    """The exit codes."""

    DONE = 0
    NO = 1
    USAGE = 2
    INPUT = 3
    UNSOLVED = 4
    EXTRA = 5
    UNEXPECTED = 70
    INTERRUPTED = 130
    UNREAD = 141
    STOPPED = 143


def code_of(error: EvenhandError) -> Exit:
    """Return the code with which an error ends a command.

    Examples
    --------
    >>> code_of(InfeasibleError("no mapping")).name, code_of(EvenhandError("no file")).name
    ('NO', 'INPUT')
    """
    kinds = (
        (InfeasibleError, Exit.NO), (VerificationError, Exit.NO), (SolverError, Exit.UNSOLVED),
        (MissingExtraError, Exit.EXTRA),
    )  # fmt: skip
    return next((code for kind, code in kinds if isinstance(error, kind)), Exit.INPUT)
