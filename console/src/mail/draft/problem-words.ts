/** What is wrong with a mail, in words. */
import { composerTexts } from '../../texts/mail/composer.ts'
import { checkRecipients, KINDS, MOST_RECIPIENTS } from '../recipients/addresses.ts'
import { type DraftProblem, type MailDraft, MOST_FILES } from './mail-draft.ts'

export function problemText(problems: readonly DraftProblem[], at: DraftProblem['at'], mail: MailDraft): string | undefined {
  const found = problems.filter((problem) => problem.at === at).map((problem) => wordsOf(problem, mail))
  return found.length ? found.join(' ') : undefined
}

function wordsOf({ kind, texts = [] }: DraftProblem, mail: MailDraft): string {
  switch (kind) {
    case 'noSender':
      return composerTexts.noSender
    case 'nobody':
      return composerTexts.nobody
    case 'wrongAddress':
      return composerTexts.wrongAddresses(texts.join(', '))
    case 'tooMany':
      return composerTexts.tooManyRecipients(MOST_RECIPIENTS, checkRecipients(KINDS.map((list) => mail[list])).count)
    case 'noTime':
      return composerTexts.noTime
    case 'past':
      return composerTexts.past
    case 'tooManyFiles':
      return composerTexts.tooManyFiles(MOST_FILES)
    case 'tooLarge':
      return composerTexts.tooLarge
  }
}
