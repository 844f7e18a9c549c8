/** A page that shows the same rows with nothing but the browser: the rows in sight, as text, at fixed places. */

const ROW_HEIGHT = 32
const COLUMN_WIDTH = 150

/** @param rows the texts of the cells */
export const barePage = (rows: string[][]): string => `<!doctype html><meta charset="utf-8"><title>Bare</title>
<style>
  body { margin: 0; font: 14px system-ui }
  #frame { height: 100vh; overflow: auto; contain: strict }
  #layer { position: relative; height: ${rows.length * ROW_HEIGHT}px; width: ${(rows[0]?.length ?? 0) * COLUMN_WIDTH}px }
  .row { position: absolute; height: ${ROW_HEIGHT}px; white-space: nowrap }
  .cell { position: absolute; width: ${COLUMN_WIDTH - 16}px; padding: 0 8px; line-height: ${ROW_HEIGHT - 1}px;
    border: solid #ddd; border-width: 0 1px 1px 0; overflow: hidden; text-overflow: ellipsis }
</style>
<div id="frame" role="grid"><div id="layer"></div></div>
<script>
  const rows = ${JSON.stringify(rows).replaceAll('<', '\\u003c')}
  const frame = document.getElementById('frame'), layer = document.getElementById('layer'), shown = new Map()
  const columns = Math.ceil(frame.clientWidth / ${COLUMN_WIDTH})
  function render() {
    const first = Math.max(0, Math.floor(frame.scrollTop / ${ROW_HEIGHT}) - 5)
    const last = Math.min(rows.length, first + Math.ceil(frame.clientHeight / ${ROW_HEIGHT}) + 10)
    for (const [index, row] of shown) if (index < first || index >= last) { row.remove(); shown.delete(index) }
    for (let index = first; index < last; index++) {
      if (shown.has(index)) continue
      const row = document.createElement('div')
      row.className = 'row'
      row.style.top = index * ${ROW_HEIGHT} + 'px'
      for (let column = 0; column < columns; column++) {
        const cell = document.createElement('div')
        cell.className = 'cell'
        cell.style.left = column * ${COLUMN_WIDTH} + 'px'
        cell.textContent = rows[index][column]
        row.append(cell)
      }
      shown.set(index, row)
      layer.append(row)
    }
  }
  frame.addEventListener('scroll', render)
  render()
</script>`
