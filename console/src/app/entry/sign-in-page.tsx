/** Signing in, and on the demo one click for each of its people. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Outputs, useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import type { Me } from '../../session/me.ts'
import { sessionTexts } from '../../texts/session.ts'
import { useTitle } from '../../ui/title.ts'
import { EntryPage } from './entry-page.tsx'
import { SignInForm } from './sign-in-form.tsx'

export function SignInPage({ done }: { done: (me: Me) => void }) {
  const client = useClient()
  const { data: methods } = useQuery({ queryKey: ['methods'], queryFn: () => client.auth.methods.query() })
  useTitle(sessionTexts.signIn)
  return (
    <EntryPage title={sessionTexts.signInTo}>
      {methods?.setup && <p>{sessionTexts.noOwner}</p>}
      <SignInForm done={done} />
      <p>
        <a href="/forgot">{sessionTexts.forgot}</a>
      </p>
      {methods?.demo && <Demo people={methods.demo} done={done} />}
    </EntryPage>
  )
}

type People = NonNullable<Outputs['auth']['methods']['demo']>

function Demo({ people, done }: { people: People; done: (me: Me) => void }) {
  const client = useClient()
  const [problem, setProblem] = useState('')
  const signIn = (email: string) => {
    setProblem('')
    client.auth.demo.mutate({ email }).then(done, (error: unknown) => setProblem(messageOf(error)))
  }
  return (
    <section className="demo" aria-labelledby="demo-title">
      <h2 id="demo-title">{sessionTexts.asDemo}</h2>
      {people.map(({ name, email, role }) => (
        <button type="button" className="button" key={email} onClick={() => signIn(email)}>
          {sessionTexts.signInAs(name)} <small>{sessionTexts.roles[role]}</small>
        </button>
      ))}
      <p className="problem" role="alert">
        {problem}
      </p>
    </section>
  )
}
