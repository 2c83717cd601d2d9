"""What people call: fit, diagnose, trace, propose, report, and the mapping itself."""
