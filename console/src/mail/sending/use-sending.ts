/** Sends the mail of a composer: checks it, notes in the draft that it is being sent, hands it over, and offers to take it back. */
import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { ComposerProps } from '../../record/record-parts.ts'
import { useClient } from '../../session/client.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { atOf, instantOf } from '../../ui/locale/zones.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import { timesOf } from '../delivery/times.ts'
import {
  type Attempt,
  type DraftProblem,
  inputOf,
  isSameMail,
  isUnwritten,
  type MailDraft,
  type NewEmail,
  problemsOf,
} from '../draft/mail-draft.ts'
import type { MailInWork } from '../draft/use-mail-draft.ts'
import { checkMail } from './check-mail.ts'
import { handOver, type Outcome, takeBack } from './delivery.ts'
import { apiInstant, askServiceClock, serviceNow } from './service-clock.ts'
import type { Warnings } from './warnings.ts'

export type Phase = 'writing' | 'checking' | 'sending' | 'finishing' | 'taking back'

export interface Sending {
  phase: Phase
  /** What is wrong with the fields. */
  problems: readonly DraftProblem[]
  /** What to know before it is sent: the next press of Send sends it, unless it is for nobody. */
  warnings: Warnings | null
  /** Why it was not sent. */
  failure: string | null
  send(): Promise<void>
  /** What was said is not true of the mail any more. */
  forget(): void
  retryTakingBack(): void
}

/** How long a mail can be taken back. The service is asked to wait a little longer, so that the last moment counts. */
const [UNDO_MS, WAIT_MS] = [10_000, 11_000] as const
/** Nobody can press a button that is shown for less. */
const LEAST_UNDO_MS = 1_500
/** The service knows a key for 24 hours. Nothing is repeated on the last of them. */
const KEY_LASTS_MS = 23 * 3_600_000

const isForgotten = ({ at }: Attempt): boolean => Date.now() - at >= KEY_LASTS_MS
/** What the service says if the mail that is answered is gone (contract.md §11, Mail). */
const ANSWERED_GONE = 'Comment not found'

const laterOf = ({ later }: MailDraft): string | null => later?.instant ?? null

export function useSending(props: ComposerProps, { draft, now, change }: MailInWork): Sending {
  const client = useClient()
  const queries = useQueryClient()
  const router = useRouter()
  const [phase, setPhase] = useState<Phase>('writing')
  const [problems, setProblems] = useState<readonly DraftProblem[]>([])
  const [warnings, setWarnings] = useState<Warnings | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const warnedOf = useRef('')
  const isBusy = useRef(false)
  /** Where the composer is, to come back to it. */
  const [address] = useState(() => router.state.location.href)
  const isOpen = useRef(true)
  useEffect(() => {
    isOpen.current = true
    return () => {
      isOpen.current = false
    }
  }, [])
  const { tableId, recordId, close, definition } = props
  const place = { tableId, recordId }
  const reader = () => ({ zone: definition.me.timezone, locale: navigator.language, now: new Date() })

  useEffect(() => void askServiceClock(), [])

  const timeOf = ({ later }: MailDraft) =>
    apiInstant(later?.instant ? atOf(later.instant) : Math.ceil(serviceNow() / 1000) * 1000 + WAIT_MS)

  async function send(): Promise<void> {
    if (isBusy.current) return
    isBusy.current = true
    try {
      await checkAndSend()
    } finally {
      isBusy.current = false
    }
  }

  async function checkAndSend(): Promise<void> {
    setFailure(null)
    const mail = now()
    const wrong = problemsOf(mail, instantOf(serviceNow()))
    setProblems(wrong)
    const input = inputOf(mail, place, timeOf(mail))
    if (wrong.length || !input) return setWarnings(null)
    setPhase('checking')
    const content = JSON.stringify({ ...input, sendAt: mail.later?.instant ?? null })
    const checked = warnedOf.current === content ? null : await check(input, mail)
    if (checked === 'refused') return setPhase('writing')
    warnedOf.current = checked && !checked.isForNobody ? content : ''
    setWarnings(checked)
    if (checked) return setPhase('writing')
    setPhase('sending')
    // However long the check took, the mail can be taken back for as long as always.
    await deliver({ ...input, sendAt: timeOf(mail) })
  }

  /** @returns what to say before sending, if anything */
  async function check(input: NewEmail, mail: MailDraft): Promise<Warnings | null | 'refused'> {
    try {
      return await checkMail(client, queries, { input, mail, reader: reader() })
    } catch (error) {
      setFailure(refusalWords(messageOf(error)))
      return 'refused'
    }
  }

  /** What the service may have refused the mail for is read again. A mail whose answered one is gone becomes one of its own. */
  function refusalWords(message: string): string {
    for (const what of ['senders', 'signatures']) void queries.invalidateQueries({ queryKey: ['mail', what] })
    if (message !== ANSWERED_GONE || now().replyTo === null) return composerTexts.kept(message)
    change({ replyTo: null })
    return composerTexts.answeredGone
  }

  /** Hands the mail over; one of which it is not known whether it was taken comes before it. */
  async function deliver(input: NewEmail): Promise<void> {
    const { attempt } = now()
    if (attempt && isForgotten(attempt)) return endForgotten(attempt)
    const isSame = attempt && attempt.later === laterOf(now()) && isSameMail(attempt.input, input)
    if (isSame) return settle(attempt.input)
    if (attempt && !(await settleEarlier(attempt.input))) return setPhase('writing')
    noteAttempt(input)
    await draft.settle()
    if (draft.now().isConflict) {
      change({ attempt: null })
      return setPhase('writing')
    }
    await settle(input)
  }

  const noteAttempt = (input: NewEmail) => change({ attempt: { input, later: laterOf(now()), at: Date.now() } })

  /** Makes sure that an earlier version of the mail does not go. @returns false if it has gone, or if that is not known */
  async function settleEarlier(input: NewEmail): Promise<boolean> {
    const outcome = await handOver(client, input, draft.now().key)
    if (outcome.kind === 'unknown') {
      setFailure(composerTexts.unknown(outcome.message))
      return false
    }
    const fate = outcome.kind === 'taken' ? await takeBack(client, outcome.commentId) : 'taken back'
    if (fate === 'unknown') {
      setFailure(composerTexts.notTakenBack(composerTexts.tryAgain))
      return false
    }
    change({ attempt: null })
    draft.renew()
    if (fate === 'too late') setFailure(composerTexts.earlierSent)
    return fate === 'taken back'
  }

  async function settle(input: NewEmail, isAgain = false): Promise<void> {
    const outcome = await handOver(client, input, draft.now().key)
    if (outcome.kind === 'past' && !isAgain && !now().later) {
      const again = { ...input, sendAt: apiInstant(serviceNow() + WAIT_MS) }
      draft.renew()
      noteAttempt(again)
      await draft.settle()
      return settle(again, true)
    }
    if (outcome.kind === 'taken') return taken(outcome.commentId, input)
    notTaken(outcome, outcome.kind === 'refused' ? refusalWords(outcome.message) : wordsOf(outcome))
  }

  function notTaken({ kind }: Outcome, words: string): void {
    setFailure(words)
    if (kind !== 'unknown') change({ attempt: null })
    if (kind === 'otherMail') draft.renew()
    setPhase('writing')
  }

  function taken(commentId: number, input: NewEmail): void {
    const sent: MailDraft = { ...now(), attempt: null }
    draft.clear()
    void draft.settle()
    // Whoever has gone on elsewhere stays there.
    if (isOpen.current) close()
    refresh()
    const undo = () => void takeBackInto(commentId, sent)
    const words = sent.later?.instant ? composerTexts.scheduled(timesOf(reader()).at(sent.later.instant)) : composerTexts.sending
    const leftMs = Math.min(UNDO_MS, Date.parse(input.sendAt ?? '') - serviceNow() - 500)
    if (leftMs < LEAST_UNDO_MS) toast(words)
    else toast(words, { lastsMs: leftMs, action: { label: composerTexts.undoSend, run: undo } })
  }

  const refresh = () => void queries.invalidateQueries({ queryKey: ['timeline', tableId, recordId] })

  /** The draft is back before the mail is taken back, so that no moment is without one of them; its note says that both are there. */
  async function takeBackInto(commentId: number, sent: MailDraft): Promise<void> {
    const other = draft.now().value
    if (other && !isUnwritten(other)) return stop(commentId)
    draft.restore({ ...sent, undoing: commentId })
    const fate = await takeBack(client, commentId)
    if (fate === 'too late') draft.clear()
    else if (fate === 'taken back') draft.set({ ...(draft.now().value ?? sent), undoing: null })
    void draft.settle()
    refresh()
    if (fate === 'too late') return void toast(composerTexts.tooLate)
    if (router.state.location.href !== address) router.history.push(address)
  }

  /** Another mail is being written meanwhile: the one that is not to go stays on the timeline, from where it can be sent again. */
  async function stop(commentId: number): Promise<void> {
    try {
      await client.email.cancel.mutate({ comment_id: commentId })
      toast(composerTexts.stopped)
    } catch (error) {
      toast(errorData(error)?.httpStatus === 409 ? composerTexts.tooLate : messageOf(error))
    }
    refresh()
  }

  /** Ends what a page that is gone had begun. */
  async function resume(): Promise<void> {
    const { undoing, attempt } = now()
    if (undoing !== null) {
      setPhase('taking back')
      const fate = await takeBack(client, undoing)
      if (fate === 'too late') {
        draft.clear()
        close()
        toast(composerTexts.tooLate)
      } else if (fate === 'taken back') change({ undoing: null })
      else setFailure(composerTexts.notTakenBack(''))
      refresh()
      setPhase(fate === 'unknown' ? 'taking back' : 'writing')
    } else if (attempt) await resumeSending(attempt)
  }

  async function resumeSending(attempt: Attempt): Promise<void> {
    if (isForgotten(attempt)) return endForgotten(attempt)
    setPhase('finishing')
    const outcome = await handOver(client, attempt.input, draft.now().key)
    if (outcome.kind === 'taken') return taken(outcome.commentId, attempt.input)
    notTaken(outcome, outcome.kind === 'past' ? composerTexts.notSentYet : wordsOf(outcome))
  }

  /** Nobody knows any more what became of it, so that the person is to look before it goes once more. */
  function endForgotten({ at }: Attempt): void {
    change({ attempt: null })
    draft.renew()
    setFailure(composerTexts.maybeSent(timesOf(reader()).at(instantOf(at))))
    setPhase('writing')
  }

  const hasResumed = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it happens once, when the draft is there.
  useEffect(() => {
    if (hasResumed.current || draft.isPending || draft.conflict) return
    hasResumed.current = true
    void resume()
  }, [draft.isPending, draft.conflict])

  return {
    ...{ phase, problems, warnings, failure, send },
    forget() {
      if (problems.length) setProblems([])
      if (warnings) setWarnings(null)
    },
    retryTakingBack: () => void resume(),
  }
}

function wordsOf(outcome: Exclude<Outcome, { kind: 'taken' }>): string {
  if (outcome.kind === 'past') return composerTexts.failed(composerTexts.past)
  if (outcome.kind === 'otherMail') return composerTexts.otherMail
  return outcome.kind === 'unknown' ? composerTexts.unknown(outcome.message) : composerTexts.failed(outcome.message)
}
