/** What admins do with views: save what is tried, create, rename, delete, and choose the one that the table opens first. */
import { type ReactNode, useRef, useState } from 'react'
import type { Conditions } from '../../grid/pages/record-source.ts'
import type { View } from '../../grid/table-data.ts'
import type { BarProps } from '../../grid/table-page.tsx'
import { messageOf } from '../../session/errors.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { isolated, type Wording } from '../condition-words.ts'
import { isSavable, savedChanges } from '../parts.ts'
import type { TryConditions } from '../trying.ts'
import { ChangedMeanwhile, type NewView, useViewActions, type ViewChanges } from './view-actions.ts'

const NameDialog = lazyPart(async () => ({ default: (await import('./view-dialogs.tsx')).NameDialog }))
const DeleteDialog = lazyPart(async () => ({ default: (await import('./view-dialogs.tsx')).DeleteDialog }))
const ConflictDialog = lazyPart(async () => ({ default: (await import('./view-dialogs.tsx')).ConflictDialog }))

type Asked = { ask: 'new' | 'save as' | 'rename' | 'delete' } | { ask: 'conflict'; now: View; changes: ViewChanges; then: () => void }

export interface ViewAction {
  does: string
  run(): void
}

interface Managing {
  /** What the menu of views offers for the shown one and for the table. */
  actions: readonly ViewAction[]
  /** What the bar offers while something is tried. */
  saving: readonly ViewAction[]
  dialog: ReactNode
}

interface Props extends Pick<BarProps, 'data' | 'view' | 'grid'> {
  tried: Conditions
  tryConditions: TryConditions
  wording: Wording
}

export function useManaging({ data, view, grid, tried, tryConditions, wording }: Props): Managing {
  const [asked, setAsked] = useState<Asked | null>(null)
  const views = useViewActions(data.table.id)
  const close = () => setAsked(null)
  // What is tried in place of a view began with the view as it was then, whatever others have saved since.
  const began = useRef(view)
  if (!tried.replaces || began.current.id !== view.id) began.current = view

  /** Words that are searched for are not a part of a view, so they stay in the address. */
  const rest: Conditions = tried.search ? { search: tried.search } : {}
  const update = async (changes: ViewChanges, then: () => void) => {
    try {
      await views.update(began.current, changes)
      then()
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error
      setAsked({ ask: 'conflict', now: error.now, changes, then })
    }
  }
  const failed = (error: unknown) => toast(messageOf(error))
  const save = () => update(savedChanges(view, tried), () => tryConditions(rest, viewTexts.savedInto(isolated(view.name)))).catch(failed)
  const setFirst = (isFirst: boolean) =>
    update({ is_table_default: isFirst }, () =>
      toast(isFirst ? viewTexts.opensFirst(isolated(view.name)) : viewTexts.opensNoMore(isolated(view.name))),
    ).catch(failed)
  const create = async (input: NewView, kept: Conditions) => {
    const created = await views.create(input)
    await views.open(created.id, kept)
    toast(viewTexts.created(isolated(created.name)))
  }

  if (data.role !== 'admin') return { actions: [], saving: [], dialog: null }
  const isSaved = !view.is_default
  const changes = savedChanges(view, tried)
  return {
    actions: [
      { does: viewTexts.newView, run: () => setAsked({ ask: 'new' }) },
      { does: viewTexts.saveAs, run: () => setAsked({ ask: 'save as' }) },
      ...(isSaved
        ? [
            { does: viewTexts.rename, run: () => setAsked({ ask: 'rename' }) },
            view.is_table_default
              ? { does: viewTexts.notFirst, run: () => void setFirst(false) }
              : { does: viewTexts.makeFirst, run: () => void setFirst(true) },
            { does: viewTexts.deleteView, run: () => setAsked({ ask: 'delete' }) },
          ]
        : []),
    ],
    saving: isSavable(view, tried)
      ? [
          ...(isSaved ? [{ does: viewTexts.save, run: () => void save() }] : []),
          { does: viewTexts.saveAs, run: () => setAsked({ ask: 'save as' }) },
        ]
      : [],
    dialog: asked && dialogOf(asked),
  }

  function dialogOf(asked: Asked): ReactNode {
    switch (asked.ask) {
      case 'new':
        return (
          <NameDialog
            {...{ title: viewTexts.newView, button: viewTexts.create, name: '', close, note: viewTexts.newNote }}
            save={(name) => create({ name, type: 'grid' }, {})}
          />
        )
      case 'save as':
        return (
          <NameDialog
            {...{ title: viewTexts.saveAs, button: viewTexts.create, name: '', close, note: viewTexts.saveAsNote(isolated(view.name)) }}
            save={(name) => create({ name, type: 'grid', config: configOf(grid, view), ...copied(view), ...changes }, rest)}
          />
        )
      case 'rename':
        return (
          <NameDialog
            {...{ title: viewTexts.rename, button: viewTexts.saveName, name: view.name, close }}
            save={(name) => update({ name }, () => toast(viewTexts.renamed(isolated(name))))}
          />
        )
      case 'delete':
        return (
          <DeleteDialog
            {...{ view, close }}
            remove={async () => {
              await views.remove(view)
              toast(viewTexts.deleted(isolated(view.name)))
            }}
          />
        )
      case 'conflict':
        return (
          <ConflictDialog
            {...{ now: asked.now, changes: asked.changes, wording, close }}
            saveMine={async () => {
              await views.update(asked.now, asked.changes)
              close()
              asked.then()
            }}
            keepTheirs={() => {
              began.current = asked.now
              views.show(asked.now)
              close()
            }}
          />
        )
    }
  }
}

/** The columns as they are shown. */
function configOf(grid: Props['grid'], view: View): Record<string, unknown> {
  const { columns, widths } = grid.state.layout
  return { columns: columns ?? [], widths, ...(view.config?.showHidden === true && { showHidden: true }) }
}

/** The conditions and the order of the view, for another one. */
const copied = ({ filters, filter, order, order_by, order_dir }: View): Partial<NewView> => ({
  ...(filter ? { filter } : { filters }),
  ...(order ? { order } : { order_by, order_dir }),
})
