/** The sums of number columns, below the rows. */
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { GridModel } from '../model/grid-model.ts'
import { setSum } from '../model/layout.ts'
import { rendered } from '../model/scrolling.ts'

export function Sums({ grid }: { grid: GridModel }) {
  const { columns, layout, sums } = grid.state
  const { firstCol, lastCol } = rendered(grid)
  const numbers = columns.filter(({ field, isFrozen, id }, col) => {
    return field.type === 'number' && !field.key && !id.includes('.') && (isFrozen || (col >= firstCol && col <= lastCol))
  })
  return (
    <section className="grid-sums" aria-label={gridTexts.sums}>
      {numbers.map(({ id, field, left, width }) => {
        const isShown = layout.sums.includes(id)
        const sum = sums.get(id)
        return (
          <button
            key={id}
            type="button"
            className={isShown ? 'grid-sum shown' : 'grid-sum'}
            style={{ left, width }}
            aria-pressed={isShown}
            onClick={() => setSum(grid, id, !isShown)}
          >
            <span className="grid-sum-name">
              {gridTexts.sum}
              <span className="visually-hidden">{gridTexts.ofField(field.name, isShown)}</span>
            </span>
            {isShown && <span>{sum === undefined ? '…' : cellKind(field).Shown({ value: sum, field, place: grid.options.place })}</span>}
          </button>
        )
      })}
    </section>
  )
}
