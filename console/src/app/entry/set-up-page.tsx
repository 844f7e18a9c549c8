/** The first person of a service, who has the link that it printed: `/setup#token`. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import type { Me } from '../../session/me.ts'
import { sessionTexts } from '../../texts/session.ts'
import { TextField } from '../../ui/text-field.tsx'
import { useTitle } from '../../ui/title.ts'
import { EntryPage } from './entry-page.tsx'

export function SetUpPage({ done }: { done: (me: Me) => void }) {
  const client = useClient()
  const { data: methods } = useQuery({ queryKey: ['methods'], queryFn: () => client.auth.methods.query() })
  useTitle(sessionTexts.setUp)
  // What follows the # is sent to no server with the address.
  const token = location.hash.slice(1).split('&', 1)[0] ?? ''
  return (
    <EntryPage title={sessionTexts.setUp}>
      {methods?.setup === false ? (
        <p>
          {sessionTexts.alreadySetUp} <Link to="/sign-in">{sessionTexts.signIn}</Link>
        </p>
      ) : token ? (
        <SetUpForm token={token} done={done} />
      ) : (
        <p className="problem">{sessionTexts.incompleteLink}</p>
      )}
    </EntryPage>
  )
}

type Name = 'name' | 'email' | 'password' | 'account_name'
const EMPTY: Record<Name, string> = { name: '', email: '', password: '', account_name: '' }

function SetUpForm({ token, done }: { token: string; done: (me: Me) => void }) {
  const client = useClient()
  const [values, setValues] = useState(EMPTY)
  const [problems, setProblems] = useState<Partial<Record<Name | 'form', string>>>({})
  const [isBusy, setBusy] = useState(false)
  const field = (name: Name) => ({
    name,
    value: values[name],
    change: (value: string) => setValues({ ...values, [name]: value }),
    problem: problems[name],
  })

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setProblems({})
    const { account_name, ...person } = values
    const { timeZone: timezone } = Intl.DateTimeFormat().resolvedOptions()
    try {
      done(await client.auth.setup.mutate({ token, timezone, ...person, ...(account_name.trim() && { account_name }) }))
    } catch (error) {
      setProblems(problemsOf(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className="entry-form" onSubmit={submit}>
      <p>{sessionTexts.setUpWhy}</p>
      <TextField {...field('name')} label={sessionTexts.name} autoComplete="name" required maxLength={100} autoFocus />
      <TextField {...field('email')} label={sessionTexts.email} type="email" autoComplete="username" required maxLength={254} />
      <TextField
        {...field('password')}
        label={sessionTexts.choosePassword}
        type="password"
        autoComplete="new-password"
        required
        hint={sessionTexts.passwordHint}
        reveal={{ show: sessionTexts.showPassword, hide: sessionTexts.hidePassword }}
      />
      <TextField {...field('account_name')} label={sessionTexts.accountName} hint={sessionTexts.accountHint} autoComplete="organization" />
      <p className="problem" role="alert">
        {problems.form}
      </p>
      <button type="submit" className="button primary" aria-disabled={isBusy}>
        {sessionTexts.create}
      </button>
    </form>
  )
}

/** What the service says of each field, and of the rest as a whole. */
function problemsOf(error: unknown): Partial<Record<Name | 'form', string>> {
  const problems: Partial<Record<Name | 'form', string>> = {}
  for (const { path, message } of (errorData(error)?.issues ?? []) as { path?: unknown[]; message: string }[]) {
    const name = String(path?.[0])
    if (name === 'token') return { form: sessionTexts.expiredLink }
    if (name in EMPTY) problems[name as Name] ??= message
  }
  return Object.keys(problems).length ? problems : { form: messageOf(error) }
}
