/** Draws how the CPU time of each case grows with the number of records: small multiples, both axes logarithmic, as one SVG. */

/** By number of records: the CPU time of a request in milliseconds, of the service and of PostgreSQL. */
export type Growth = Record<string, { nodeMs: number; postgresMs: number }>

const COLUMNS = 4
const PANEL = { width: 240, height: 170, left: 44, top: 36, right: 14, bottom: 30 }
const HEAD = 58
/** The colours are legible on white and on the dark grey of code hosts; both follow the reader's setting. */
const STYLE = `text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.small{font-size:10px;fill:#59636e}.grid{stroke:#d1d9e0;stroke-width:1}
.line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}.node{fill:none;stroke:#8250df;stroke-width:1.5;stroke-dasharray:4 3}.back{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.grid{stroke:#3d444d}.line{stroke:#4493f8}.dot{fill:#4493f8}.node{stroke:#ab7df8}.back{fill:#0d1117}}`

/** @param cases by name; panels come in their order */
export function drawGrowth(cases: Readonly<Record<string, Growth>>): string {
  const names = Object.keys(cases)
  const sizes = sizesOf(cases)
  const scales = scalesOf(cases, sizes)
  const rows = Math.ceil(names.length / COLUMNS)
  const [width, height] = [COLUMNS * PANEL.width, HEAD + rows * PANEL.height]
  const panels = names.map((name, index) => {
    const at = `translate(${(index % COLUMNS) * PANEL.width} ${HEAD + Math.floor(index / COLUMNS) * PANEL.height})`
    return `<g transform="${at}">${drawPanel(name, cases[name] ?? {}, sizes, scales)}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="CPU time of a request by number of records">
<style>${STYLE}</style>
<rect class="back" width="${width}" height="${height}"/>
<text x="14" y="22" class="title">CPU milliseconds of a request by number of records, both axes logarithmic</text>
<path class="line" d="M14 40h26"/><text x="46" y="44">Node and PostgreSQL</text><path class="node" d="M190 40h26"/><text x="222" y="44">Node alone</text>
${panels.join('\n')}
</svg>
`
}

/** All numbers of records, ascending. */
export const sizesOf = (cases: Readonly<Record<string, Growth>>): number[] =>
  [...new Set(Object.values(cases).flatMap((growth) => Object.keys(growth).map(Number)))].sort((a, b) => a - b)

interface Scales {
  x(records: number): number
  y(ms: number): number
  /** The powers of ten on the vertical axis. */
  ticks: number[]
}

function scalesOf(cases: Readonly<Record<string, Growth>>, sizes: readonly number[]): Scales {
  const values = Object.values(cases).flatMap((growth) =>
    Object.values(growth).flatMap(({ nodeMs, postgresMs }) => [nodeMs, nodeMs + postgresMs]),
  )
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))]
  const [first, last] = [Math.log10(sizes[0] ?? 1), Math.log10(sizes.at(-1) ?? 1)]
  const right = PANEL.width - PANEL.right
  const bottom = PANEL.height - PANEL.bottom
  return {
    x: (records) => PANEL.left + ((right - PANEL.left) * (Math.log10(records) - first)) / Math.max(last - first, 1),
    y: (ms) => bottom - ((bottom - PANEL.top) * (Math.log10(ms) - low)) / Math.max(high - low, 1),
    ticks: Array.from({ length: Math.max(high - low, 1) + 1 }, (_, index) => 10 ** (low + index)),
  }
}

function drawPanel(name: string, growth: Growth, sizes: readonly number[], { x, y, ticks }: Scales): string {
  const points = sizes.flatMap((size) => {
    const figures = growth[size]
    return figures ? [{ size, ...figures }] : []
  })
  const grid = ticks.map((tick) => {
    const at = round(y(tick))
    return `<path class="grid" d="M${PANEL.left} ${at}H${PANEL.width - PANEL.right}"/><text class="small" x="${PANEL.left - 6}" y="${at + 3}" text-anchor="end">${Number(tick.toPrecision(1))}</text>`
  })
  const labels = sizes.map(
    (size) =>
      `<text class="small" x="${round(x(size))}" y="${PANEL.height - PANEL.bottom + 14}" text-anchor="middle">${shortNumber(size)}</text>`,
  )
  const path = (of: (point: (typeof points)[number]) => number) =>
    points.map((point, index) => `${index ? 'L' : 'M'}${round(x(point.size))} ${round(y(of(point)))}`).join('')
  const total = ({ nodeMs, postgresMs }: (typeof points)[number]) => nodeMs + postgresMs
  const dots = points.map((point) => `<circle class="dot" cx="${round(x(point.size))}" cy="${round(y(total(point)))}" r="3"/>`)
  return [
    ...titleLines(name).map((line, index) => `<text x="14" y="${14 + 14 * index}" class="small">${escaped(line)}</text>`),
    ...grid,
    ...labels,
    `<path class="node" d="${path(({ nodeMs }) => nodeMs)}"/><path class="line" d="${path(total)}"/>`,
    ...dots,
  ].join('')
}

const LINE = 46

/** The name in up to two lines. */
function titleLines(name: string): string[] {
  if (name.length <= LINE) return [name]
  const at = name.lastIndexOf(' ', LINE)
  return [name.slice(0, at), name.slice(at + 1)]
}

const round = (value: number) => Math.round(value * 10) / 10
const shortNumber = (value: number) => (value >= 1e6 ? `${value / 1e6} M` : value >= 1e3 ? `${value / 1e3} k` : String(value))
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
