/** Opens the dialog for a new task by a key, on every page. */
import { useKeys } from '../../ui/keys/keys.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { closeQuickAdd, openQuickAdd, useOpened } from './opened.ts'

const QuickAddDialog = lazyPart(async () => ({ default: (await import('./quick-add-dialog.tsx')).QuickAddDialog }))

/** @param page the heading under which the key is listed @param does what it does */
export function QuickAddHost({ page, does }: { page: string; does: string }) {
  const opened = useOpened()
  useKeys(page, [{ keys: 'Q', does, run: () => openQuickAdd() }])
  return opened && <QuickAddDialog onRecord={opened.onRecord} close={closeQuickAdd} />
}
