/** The form that signs in: on its page, and over a page whose session has ended. */
import { type FormEvent, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import type { Me } from '../../session/me.ts'
import { sessionTexts } from '../../texts/session.ts'
import '../../ui/button.css'
import { TextField } from '../../ui/text-field.tsx'

interface Props {
  /** The only person who may sign in here. */
  email?: string
  done: (me: Me) => void
}

export function SignInForm({ email: fixed, done }: Props) {
  const client = useClient()
  const [email, setEmail] = useState(fixed ?? '')
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setProblem('')
    try {
      done(await client.auth.login.mutate({ email, password }))
    } catch (error) {
      setProblem(messageOf(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form className="entry-form" onSubmit={submit}>
      <TextField
        label={sessionTexts.email}
        type="email"
        name="email"
        autoComplete="username"
        required
        readOnly={fixed !== undefined}
        autoFocus={fixed === undefined}
        value={email}
        change={setEmail}
      />
      <TextField
        label={sessionTexts.password}
        type="password"
        name="password"
        autoComplete="current-password"
        required
        autoFocus={fixed !== undefined}
        value={password}
        change={setPassword}
        reveal={{ show: sessionTexts.showPassword, hide: sessionTexts.hidePassword }}
      />
      <p className="problem" role="alert">
        {problem}
      </p>
      <button type="submit" className="button primary" aria-disabled={isBusy}>
        {isBusy ? sessionTexts.signingIn : sessionTexts.signIn}
      </button>
    </form>
  )
}
