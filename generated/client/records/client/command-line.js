#!/usr/bin/env node
/** The program of the client's package: `npx gridpost-client types`. Only the declarations go to standard output. */
import { CommandError, TYPES_USAGE, typesOf } from './types-command.js';
const [command, ...args] = process.argv.slice(2);
const asksForHelp = command === undefined || [command, ...args].some((arg) => ['help', '--help', '-h'].includes(arg));
if (asksForHelp)
    process.stdout.write(`${TYPES_USAGE}\n`);
else if (command === 'types')
    await writeTypes();
else
    fail(`There is no command ${command}; npx gridpost-client --help`);
async function writeTypes() {
    try {
        process.stdout.write(await typesOf(args, process.env));
    }
    catch (error) {
        if (!(error instanceof CommandError))
            throw error;
        fail(error.message);
    }
}
function fail(line) {
    process.stderr.write(`${line}\n`);
    process.exitCode = 1;
}
