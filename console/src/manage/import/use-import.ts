/** The way of a file into a new table: what the service makes of it, the import, and how far it is. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import { importTexts } from '../../texts/manage/import.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { ended, type Job } from '../ended-job.ts'
import type { correctionsOf } from './corrections.ts'
import type { Guess } from './guess.ts'

/** How the file is read; empty texts leave it to the service. */
export interface Reading {
  title: string
  sheet: string
  encoding: string
  date_format: string
}

export type ImportState =
  | { step: 'choose' }
  | { step: 'reading'; file: File }
  /** `sheet` is the one that was read. */
  | { step: 'guessed'; file: File; guess: Guess; sheet: string; isBusy?: boolean }
  /** Once the service has the file, it goes on without this page. */
  | { step: 'importing'; file: File; done: number; total: number; isReceived: boolean }

type Guessed = Extract<ImportState, { step: 'guessed' }>

export interface Problem {
  message: string
  /** The first cells that do not fit. */
  issues: readonly string[]
}

interface Options {
  spaceId: number
  done(tableId: number, name: string, created: number): void
}

/** The examples of each column. */
const SAMPLES = 3
/** What is said of an import that nobody looks at any more is read later. */
const LASTS_MS = 60_000

export function useImport({ spaceId, done }: Options) {
  const client = useClient()
  const queries = useQueryClient()
  const [state, setState] = useState<ImportState>({ step: 'choose' })
  const [problem, setProblem] = useState<Problem | null>(null)
  const ending = useRef(new AbortController())
  useEffect(() => {
    ending.current = new AbortController()
    return () => ending.current.abort()
  }, [])

  const guessOf = async (file: File, reading: Reading): Promise<Guess> => {
    const input = { space_id: spaceId, ...given({ ...reading, title: '' }), dry_run: true, samples: SAMPLES }
    return (await client.importTable(input, file, { signal: ending.current.signal })) as Guess
  }

  /** Reads a file that was just chosen, in the only form of dates that it has. @returns how it was read; undefined if it cannot be */
  async function open(file: File, reading: Reading): Promise<Reading | undefined> {
    setProblem(null)
    setState({ step: 'reading', file })
    try {
      const guess = await guessOf(file, reading)
      const [form, ...others] = new Set(guess.formats.map((format) => format.form))
      // The service names a form only if no other fits all of a column's texts.
      const read = form === undefined || others.length ? reading : { ...reading, date_format: form }
      setState({ step: 'guessed', file, guess: read === reading ? guess : await guessOf(file, read), sheet: read.sheet })
      return read
    } catch (error) {
      if (ending.current.signal.aborted) return undefined
      setState({ step: 'choose' })
      setProblem(problemOf(error))
    }
    return undefined
  }

  /** What was read before stays in sight while the file is read in another way. The name counts only once the table is made. */
  async function readAgain(before: Guessed, reading: Reading): Promise<void> {
    const { file } = before
    setProblem(null)
    setState({ ...before, isBusy: true })
    try {
      setState({ step: 'guessed', file, guess: await guessOf(file, reading), sheet: reading.sheet })
    } catch (error) {
      if (ending.current.signal.aborted) return
      setState(before)
      setProblem(problemOf(error))
    }
  }

  async function start(before: Guessed, reading: Reading, corrections: ReturnType<typeof correctionsOf>) {
    const { file, guess } = before
    const { signal } = ending.current
    let hasFile = false
    const show = (rows: number, total: number, isReceived: boolean) => {
      if (!signal.aborted) setState({ step: 'importing', file, done: rows, total, isReceived })
    }
    const refuse = (refused: Problem) => {
      if (signal.aborted && hasFile) toast(refused.message, { lastsMs: LASTS_MS })
      if (signal.aborted) return
      setState(before)
      setProblem(refused)
    }
    const name = reading.title.trim() || guess.name
    setProblem(null)
    show(0, guess.rows, false)
    try {
      const fields = corrections.length ? { fields: corrections } : {}
      const started = await client.importTable({ space_id: spaceId, ...given(reading), ...fields }, file, { signal })
      if (!('job_id' in started)) return
      hasFile = true
      show(0, guess.rows, true)
      const job = await ended(client, started.job_id, ({ done: rows, total }) => show(rows, total, true))
      await queries.invalidateQueries({ queryKey: ['tables', spaceId] })
      if (job.state === 'done' && signal.aborted) toast(saidOf(job, name), { lastsMs: LASTS_MS })
      else if (job.state === 'done') done(started.table_id, name, job.created ?? 0)
      else refuse({ message: saidOf(job, name), issues: (job.issues ?? []).map(issueOf) })
    } catch (error) {
      refuse(problemOf(error, (index) => guess.fields.find(({ id }) => id === corrections[index]?.field)?.name))
    }
  }
  return { state, problem, open, readAgain, start, reset: () => setState({ step: 'choose' }), forgive: () => setProblem(null) }
}

const saidOf = ({ state, created, error }: Job, name: string): string =>
  state === 'done' ? importTexts.imported(name, created ?? 0) : importTexts.refused(error)

const given = (reading: Reading) => Object.fromEntries(Object.entries(reading).filter(([, text]) => text.trim() !== ''))

type Issue = NonNullable<Job['issues']>[number]

const issueOf = ({ row, column, message }: Issue): string => importTexts.issue(row, column, message)

/** @param fieldAt the name of a field by the place of its correction */
function problemOf(error: unknown, fieldAt: (index: number) => string | undefined = () => undefined): Problem {
  const issues = (errorData(error)?.issues ?? []) as readonly (Partial<Issue> & { path?: readonly unknown[] })[]
  const ofCells = issues.filter((issue): issue is Issue => issue.row !== undefined)
  const [{ path: [list, index] = [], message = '' } = {}] = issues
  const field = list === 'fields' && typeof index === 'number' ? fieldAt(index) : undefined
  return { message: field === undefined ? messageOf(error) : `${field}: ${message}`, issues: ofCells.map(issueOf) }
}
