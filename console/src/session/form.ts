/** A form: what was typed, whether it is being sent, and what the service refused at which field. */
import { type FormEvent, useRef, useState } from 'react'
import { sessionTexts } from '../texts/session.ts'
import { useAskBeforeLeaving } from '../ui/ask-before-leaving.ts'
import { errorData, messageOf } from './errors.ts'

export type Problems<Values> = Partial<Record<keyof Values | 'form', string>>

export interface Form<Values> {
  values: Values
  problems: Problems<Values>
  isBusy: boolean
  isChanged: boolean
  /** The properties of a field that is a text. */
  text(name: TextName<Values>): { name: string; value: string; change: (value: string) => void; problem: string | undefined }
  set(changes: Partial<Values>): void
  /** Says what is wrong without asking the service. */
  refuse(problems: Problems<Values>): void
  /** Forgets what was typed. */
  reset(): void
  submit(event: FormEvent<HTMLFormElement>): Promise<void>
}

type TextName<Values> = { [Name in keyof Values]: Values[Name] extends string ? Name : never }[keyof Values] & string

/**
 * @param initial what the service has; a field that was not changed follows it
 * @param send sends the values, and does what follows. What it throws is shown at its field, or as a whole
 */
export function useForm<Values extends object>(initial: Values, send: (values: Values) => Promise<unknown>): Form<Values> {
  const [edited, setEdited] = useState<Partial<Values>>({})
  const [problems, setProblems] = useState<Problems<Values>>({})
  const [isBusy, setBusy] = useState(false)
  const busy = useRef(false)
  const values = { ...initial, ...edited }
  const names = Object.keys(initial) as (keyof Values & string)[]
  const isChanged = names.some((name) => JSON.stringify(values[name]) !== JSON.stringify(initial[name]))
  useAskBeforeLeaving(isChanged)

  const set = (changes: Partial<Values>) => setEdited((before) => ({ ...before, ...changes }))

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const { currentTarget: form } = event
    if (busy.current) return
    busy.current = true
    setBusy(true)
    setProblems({})
    try {
      await send(values)
      // What was typed while it was sent is not sent yet.
      setEdited(
        (now) =>
          Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== values[name as keyof Values])) as Partial<Values>,
      )
    } catch (error) {
      setProblems(error instanceof Refused ? refusedBy<Values>(error) : problemsOf(error, names))
      // Once the problems are shown.
      setTimeout(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
    } finally {
      busy.current = false
      setBusy(false)
    }
  }

  return {
    ...{ values, problems, isBusy, set, submit },
    isChanged,
    text: (name) => ({
      ...{ name, value: values[name] as string, problem: problems[name] },
      change: (value) => set({ [name]: value } as Partial<Values>),
    }),
    refuse: setProblems,
    reset: () => {
      setEdited({})
      setProblems({})
    },
  }
}

/** What `send` throws if the values cannot be sent as they are. */
export class Refused extends Error {
  readonly problems: Readonly<Record<string, string>>
  constructor(problems: Readonly<Record<string, string>>) {
    super('The form has problems')
    this.problems = problems
  }
}

const refusedBy = <Values>({ problems }: Refused) =>
  Object.fromEntries(Object.entries(problems).map(([name, message]) => [name, sentenceOf(message)])) as Problems<Values>

/** What is wrong with a value, as a sentence below its field. */
function sentenceOf(message: string): string {
  if (message === 'must not be empty' || message === 'is required') return sessionTexts.fillIn
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`
}

/** What the service says of each of the fields, and of the rest as a whole. */
function problemsOf<Values>(error: unknown, names: readonly (keyof Values & string)[]): Problems<Values> {
  const problems: Problems<Values> = {}
  for (const { path, message } of (errorData(error)?.issues ?? []) as { path?: unknown[]; message: string }[]) {
    const name = names.find((one) => one === path?.[0])
    if (name) problems[name] ??= sentenceOf(message)
  }
  return Object.keys(problems).length ? problems : ({ form: messageOf(error) } as Problems<Values>)
}
