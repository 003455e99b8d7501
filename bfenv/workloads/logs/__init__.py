"""Readers of logs, and the writer of SWF.

SWF is read as it is. The log of any other system goes three steps: its format makes a `Record` of
each line, which names what the line says; `read_run` makes a `Run` of it, or says why there is
none; and `convert` makes a trace of the runs. To read another format, add a module that makes a
`Log`.
"""
