/** The commands of an operator: `npm run admin -- <command>` (docs/operations.md). */
import { argumentsOf, type CommandName, commands } from './admin-arguments.ts'
import { asksForHelp, commandOf, runScript } from './runtime.ts'

const USAGE = `npm run admin -- <command>, on the database that the settings name (DATA_DIR or DATABASE_URL), beside a running service or without one:

  create-account --name <account> --email <owner> --owner <name> [--timezone <zone>] [--password-stdin]
  create-user --account <id> --email <email> --name <name> [--timezone <zone>] [--password-stdin]
  create-space --account <id> --name <name>
  create-key --account <id> --name <name> [--read-only] [--spaces <id,id,…>] [--ips <range,range,…>] [--expires <YYYY-MM-DD HH:MM:SS>]
  create-key --user <email> --name <name> [--read-only] [--ips …] [--expires …]      a personal key
  account list                                      accounts with their owners, as JSON, one in a line
  account owner <account> <email|id>                hands an account, by its id, to another of its users
  user list [--account <id>]                        users with their state, when they were last seen, and their spaces
  user disable <email|id>                           ends the sessions, personal keys and waiting emails of a user, who may do nothing then
  user enable <email|id>                            lets a disabled user in again
  user erase <email|id> [--yes]                     takes name, address and access from a user for good; asks first, or not with --yes
  key list [--account <id>]                         keys without their secrets
  set-password <email> [--password-stdin]           ends all sessions of the user, too
  restore-table <id>                                brings back what was deleted in the last seven days
  restore-space <id>
  space place <id> <node>                           puts the records of a space on a node of a Citus cluster (docs/scaling.md)
  space move <id> <node>                            moves them to another node; the service runs on
  export --table <id> [--view <id>] <file.csv>      a table as CSV, or what a view shows of it (docs/csv.md)
  import --table <id> <file.csv>                    records from CSV, all or none, in the name of the account's owner
  replay <id|since>                                 reads a stored inbound message again, or all since YYYY-MM-DD HH:MM:SS in UTC (docs/email.md)
  rotate-secrets                                    encrypts everything stored with the new SECRET_KEY, while the old one is in SECRET_KEY_PREVIOUS
  doctor [--json]                                   looks for weak settings, unreachable parts, damage and leftovers; changes nothing
  files check [--repair]                            reads all stored files, compares them with their rows and uses, and reports what does not agree; --repair
                                                    mends what it can, drops unused files, and deletes bytes that nothing names
  files copy <to>                                   copies the files of STORAGE that <to>, a folder or bucket, does not have, for a backup (docs/backup.md)
  files move <to>                                   moves all files from STORAGE_PREVIOUS to STORAGE, which is <to>; the service runs on (docs/stored-files.md)
  backup <file.tar.gz>                              the embedded database with its files; a service may go on running
  restore <file.tar.gz> [--replace]                 into DATA_DIR; no service may be running

Without --password-stdin (one line on standard input) a password is made and printed. The result of a create is one JSON object.
Exit codes: 0 done, 1 not done, with the reason in one line; doctor and files check: 1 if something is wrong.`

await runScript(async () => {
  const args = process.argv.slice(2)
  if (asksForHelp(args)) return console.log(USAGE)
  const words = Object.hasOwn(commands, args.slice(0, 2).join(' ')) ? 2 : 1
  const [name, rest] = [args.slice(0, words).join(' '), args.slice(words)]
  const given = argumentsOf(name, commandOf('admin', commands, name), rest)
  // Loaded only for arguments that can be read: the parts of the service take most of the time of a command.
  const { runs } = await import('./admin-commands.ts')
  await runs[name as CommandName](given)
})
