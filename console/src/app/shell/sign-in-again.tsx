/** Over the page whose session has ended: nothing on it is lost, and what waits goes on after signing in. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { type Me, useMe } from '../../session/me.ts'
import { openSession } from '../../session/session.ts'
import { useSessionState } from '../../session/use-session-state.ts'
import { sessionTexts } from '../../texts/session.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { SignInForm } from '../entry/sign-in-form.tsx'

export function SignInAgain() {
  const isOther = useSessionState() === 'other'
  const title = isOther ? sessionTexts.otherPerson : sessionTexts.again
  return (
    <DialogBox title={title} isAlert>
      <p>{isOther ? sessionTexts.otherPersonWhy : sessionTexts.againWhy}</p>
      {isOther ? (
        <button type="button" className="button primary" onClick={() => location.reload()}>
          {sessionTexts.loadAgain}
        </button>
      ) : (
        <Again />
      )}
    </DialogBox>
  )
}

function Again() {
  const { name, email } = useMe()
  const client = useClient()
  const { data: methods } = useQuery({ queryKey: ['methods'], queryFn: () => client.auth.methods.query() })
  const [problem, setProblem] = useState('')
  const done = (me: Me) => openSession(me.id, { isNew: true })
  const isOfDemo = methods?.demo?.some((person) => person.email === email)
  return (
    <>
      <SignInForm email={email} done={done} />
      {isOfDemo && (
        <button
          type="button"
          className="button"
          onClick={() => client.auth.demo.mutate({ email }).then(done, (error: unknown) => setProblem(messageOf(error)))}
        >
          {sessionTexts.signInAs(name)}
        </button>
      )}
      <p className="problem" role="alert">
        {problem}
      </p>
      <p>
        <a href="/sign-in">{sessionTexts.asSomebodyElse}</a>
      </p>
    </>
  )
}
