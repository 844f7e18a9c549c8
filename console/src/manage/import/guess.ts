/** What the service makes of a file before it becomes a table. */
import type { Client } from '../../cells/kind.ts'

export type Guess = Extract<Awaited<ReturnType<Client['importTable']>>, { rows: number }>
