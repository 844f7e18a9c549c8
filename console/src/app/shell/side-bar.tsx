/** The way to every table, and at the foot who one is. */
import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { type SpaceWithTables, type Table, usePlaces } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { tableTexts } from '../../texts/manage/fields.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { Mark } from '../entry/entry-page.tsx'
import { Foot } from './foot.tsx'
import { toggled, useFoldedSpaces, useRecentTables, useStarredTables } from './remembered.ts'
import { WorkLinks } from './work-links.tsx'

interface Props {
  /** Opens the palette. */
  find: () => void
  showKeys: () => void
  /** Hides the bar on a wide screen, and closes the menu on a narrow one. */
  hide: () => void
  close: () => void
}

const NewSpaceDialog = lazyPart(async () => ({ default: (await import('../../manage/spaces/new-space-dialog.tsx')).NewSpaceDialog }))
const NewTableDialog = lazyPart(async () => ({ default: (await import('../../manage/tables/table-dialog.tsx')).NewTableDialog }))

/** With fewer tables the recent ones are in sight anyway. */
const TABLES_IN_SIGHT = 6
const RECENT_SHOWN = 5

export function SideBar({ find, showKeys, hide, close }: Props) {
  const { places, isPending, error, refetch } = usePlaces()
  const { is_owner } = useMe()
  const [isAdding, setAdding] = useState(false)
  const starred = useStarredTables()
  const recent = useRecentTables()
  const tables = places.flatMap((space) => space.tables)
  const found = (ids: readonly number[]) => ids.flatMap((id) => tables.find((table) => table.id === id) ?? [])
  return (
    <aside className="side-bar" aria-label={appTexts.sideBar} id="side-bar" onKeyDown={({ key }) => key === 'Escape' && close()}>
      <div className="side-bar-head">
        <Link to="/" className="brand">
          <Mark /> {appTexts.product}
        </Link>
        <button type="button" className="button quiet icon-only small" aria-label={appTexts.toggleMenu} onClick={hide}>
          <Icon name="panel-left" />
        </button>
      </div>
      <button type="button" className="find" onClick={find}>
        <Icon name="search" /> {appTexts.palette} <kbd>Ctrl K</kbd>
      </button>
      <WorkLinks />
      <nav className="places" aria-label={appTexts.navigation} aria-busy={isPending}>
        <Tables title={appTexts.starred} tables={found(starred.value)} />
        {tables.length > TABLES_IN_SIGHT && <Tables title={appTexts.recent} tables={found(recent.value).slice(0, RECENT_SHOWN)} />}
        {places.map((space) => (
          <Space key={space.id} space={space} />
        ))}
        {is_owner && !isPending && (
          <button type="button" className="button quiet small" onClick={() => setAdding(true)}>
            <Icon name="plus" /> {appTexts.newSpace}
          </button>
        )}
        {error && (
          <p className="problem" role="alert">
            {messageOf(error)}{' '}
            <button type="button" className="button small" onClick={refetch}>
              {appTexts.retry}
            </button>
          </p>
        )}
      </nav>
      <Foot showKeys={showKeys} />
      {isAdding && <NewSpaceDialog close={() => setAdding(false)} />}
    </aside>
  )
}

function Tables({ title, tables }: { title: string; tables: readonly Table[] }) {
  const id = useId()
  if (!tables.length) return null
  return (
    <section className="tables" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul>
        {tables.map((table) => (
          <TableLink key={table.id} table={table} />
        ))}
      </ul>
    </section>
  )
}

function Space({ space: { id, name, role, tables } }: { space: SpaceWithTables }) {
  const folded = useFoldedSpaces()
  const [isAdding, setAdding] = useState(false)
  const listId = useId()
  const isFolded = folded.value.includes(id)
  return (
    <section className="tables" aria-label={name}>
      <h2>
        <button type="button" aria-expanded={!isFolded} aria-controls={listId} onClick={() => folded.set(toggled(folded.value, id))}>
          <Icon name={isFolded ? 'chevron-right' : 'chevron-down'} />
          <span>{name}</span>
        </button>
        <Link
          to="/spaces/$spaceId/$"
          params={{ spaceId: String(id), _splat: 'members' }}
          className="people"
          aria-label={appTexts.peopleOf(name)}
          title={appTexts.peopleOf(name)}
        >
          <Icon name="users" />
        </Link>
        {role === 'admin' && (
          <button type="button" className="new-table" aria-label={tableTexts.newTableIn(name)} onClick={() => setAdding(true)}>
            <Icon name="plus" />
          </button>
        )}
      </h2>
      <ul id={listId} hidden={isFolded}>
        {tables.map((table) => (
          <TableLink key={table.id} table={table} hasStar />
        ))}
        {!tables.length && <li className="no-tables">{appTexts.noTables}</li>}
      </ul>
      {isAdding && <NewTableDialog space={{ id, name }} close={() => setAdding(false)} />}
    </section>
  )
}

function TableLink({ table: { id, name }, hasStar = false }: { table: Table; hasStar?: boolean }) {
  const starred = useStarredTables()
  const isStarred = starred.value.includes(id)
  return (
    <li>
      <Link to="/table/$tableId" params={{ tableId: String(id) }} title={name}>
        <Icon name="layout-grid" />
        <span>{name}</span>
      </Link>
      {hasStar && (
        <button
          type="button"
          className="star"
          aria-label={isStarred ? appTexts.unstar(name) : appTexts.star(name)}
          aria-pressed={isStarred}
          onClick={() => starred.set(toggled(starred.value, id))}
        >
          <Icon name="star" />
        </button>
      )}
    </li>
  )
}
