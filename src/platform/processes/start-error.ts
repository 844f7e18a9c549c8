/** Says in one line why the service cannot start: something that the operator has to change. Empty if the line was printed before. */
export class StartError extends Error {}

/** The exit code of a process that says so to its supervisor (EX_CONFIG of sysexits.h). */
export const CANNOT_START = 78
