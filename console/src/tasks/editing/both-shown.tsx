import { taskTexts } from '../../texts/tasks.ts'

interface Props {
  mine: string
  theirs: string
  keepMine(): void
  takeTheirs(): void
}

/** Two people have changed the same: both are shown, and the person decides. */
export function BothShown({ mine, theirs, keepMine, takeTheirs }: Props) {
  return (
    <div className="both-shown" role="alert">
      <p>{taskTexts.changedMeanwhile}</p>
      <dl>
        <dt>{taskTexts.theirs}</dt>
        <dd dir="auto">{theirs || taskTexts.nothing}</dd>
        <dt>{taskTexts.mine}</dt>
        <dd dir="auto">{mine || taskTexts.nothing}</dd>
      </dl>
      <button type="button" className="button small" onClick={keepMine}>
        {taskTexts.keepMineText}
      </button>{' '}
      <button type="button" className="button small" onClick={takeTheirs}>
        {taskTexts.takeTheirs}
      </button>
    </div>
  )
}
