/** Asks for a record by its title or its id, and says why the view does not show it. */
import { useRef, useState } from 'react'
import { searchRecords } from '../../cells/find-records.ts'
import type { Link } from '../../cells/kind.ts'
import { callFocus, say } from '../../grid/model/grid-model.ts'
import { select } from '../../grid/model/navigation.ts'
import type { Conditions } from '../../grid/pages/record-source.ts'
import { oneCell } from '../../grid/selection/selection.ts'
import type { BarProps } from '../../grid/table-page.tsx'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { whyTexts } from '../../texts/views/why.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { ChoiceList } from '../../ui/lists/choice-list.tsx'
import { useSearch } from '../../ui/lists/use-search.ts'
import { useVerdict } from '../why-not-here.tsx'

interface Props extends Pick<BarProps, 'data' | 'view' | 'grid'> {
  tried: Conditions
  close(): void
}

export function WhyDialog(props: Props) {
  const [chosen, setChosen] = useState<Link | null>(null)
  return (
    <DialogBox title={whyTexts.title} close={props.close}>
      {chosen ? <Answer {...props} record={chosen} again={() => setChosen(null)} /> : <RecordSearch {...props} choose={setChosen} />}
    </DialogBox>
  )
}

const NOTHING: ReadonlySet<string> = new Set()
const MOST_OFFERED = 50

function RecordSearch({ data, choose }: Props & { choose(record: Link): void }) {
  const client = useClient()
  const [text, setText] = useState('')
  const { found, isBusy, problem } = useSearch<Link>(text, (words, signal) =>
    searchRecords({ table: data.table.id }, client, words, MOST_OFFERED, signal),
  )
  const id = /^\s*(\d{1,9})\s*$/.exec(text)?.[1]
  // A record that was deleted, or that never was, can be asked about, too.
  const isUnknown = id !== undefined && !isBusy && !found.some((link) => link.id === Number(id))
  const offered = [...found, ...(isUnknown ? [{ id: Number(id), title: whyTexts.recordWithId(id) }] : [])]
  return (
    <div className="why-search">
      <ChoiceList
        label={whyTexts.record}
        text={text}
        onText={setText}
        options={offered.map((link) => ({ id: String(link.id), text: link.title ?? '', content: <RecordName {...link} /> }))}
        chosen={NOTHING}
        isMultiple={false}
        isBusy={isBusy}
        empty={problem ?? (isBusy ? whyTexts.searching : whyTexts.noSuch)}
        onChoose={(wanted) => {
          const link = offered.find((one) => String(one.id) === wanted)
          if (link) choose(isUnknown && link.id === Number(id) ? { id: link.id, title: null } : link)
        }}
        onKey={() => {}}
      />
    </div>
  )
}

const RecordName = ({ id, title }: Link) => (
  <span className="link-chip" data-untitled={title ? undefined : ''} dir="auto">
    {title ?? whyTexts.noTitle}
    <span className="choice-detail">{id}</span>
  </span>
)

function Answer({ data, view, grid, tried, close, record, again }: Props & { record: Link; again(): void }) {
  const client = useClient()
  const asked = { tableId: data.table.id, viewId: view.id, recordId: record.id, tried }
  const { verdict, text } = useVerdict(data, asked)
  const isGoing = useRef(false)
  const { openRecord } = grid.options
  const exists = verdict?.kind === 'shown' || verdict?.kind === 'excluded'

  const goTo = async () => {
    if (isGoing.current) return
    isGoing.current = true
    close()
    try {
      const { position } = await client.records.neighbours.query({ ...grid.source.narrowing, record_id: record.id, position: true })
      if (position === undefined) return
      select(grid, oneCell({ row: position, col: 0 }))
      callFocus(grid)
    } catch (error) {
      say(grid, messageOf(error), true)
    }
  }
  return (
    <div className="why-answer">
      <p className="why-record">
        <RecordName {...record} />
      </p>
      <output className="why">{text}</output>
      <div className="view-form-buttons">
        {/* biome-ignore lint/a11y/noAutofocus: the field that had the focus has made room for the answer */}
        <button type="button" className="button" onClick={again} autoFocus>
          {whyTexts.another}
        </button>
        {exists && openRecord && (
          <button
            type="button"
            className="button"
            onClick={() => {
              close()
              openRecord(record.id)
            }}
          >
            {whyTexts.open}
          </button>
        )}
        {verdict?.kind === 'shown' && (
          <button type="button" className="button primary" onClick={() => void goTo()}>
            {whyTexts.goTo}
          </button>
        )}
      </div>
    </div>
  )
}
