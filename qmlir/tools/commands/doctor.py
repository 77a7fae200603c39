"""`qmlir doctor`: checks the installation and the CPU. It has only the common options."""

from qmlir.tools import running
from qmlir.tools.command_runner import Command

DOCTOR = Command(
    lambda parser: None,
    lambda arguments, session: running.run_doctor(arguments, session),
    examples=("doctor", "doctor --json"),
)
