/** The saved views of the demo account by table. They include each type of view, date tokens and @me. */
import type { NewView } from '../views/schema.ts'

const isOpen = [
  { column: 'stage', compare: '!=', value: 'Won' },
  { column: 'stage', compare: '!=', value: 'Lost' },
]

export const countryViews: NewView[] = [
  {
    name: 'By size',
    type: 'grid',
    config: { columns: ['name', 'capital', 'region', 'area_km2'], widths: { name: 220 } },
    order_by: 'area_km2',
    order_dir: 'D',
  },
  { name: 'By region', type: 'kanban', config: { categoryField: 'region', secondaryField: 'capital' }, order_by: 'name' },
  {
    name: 'Landlocked in Africa',
    type: 'grid',
    filters: [
      { column: 'landlocked', compare: '=', value: true },
      { column: 'region', compare: '=', value: 'Africa' },
    ],
    order_by: 'name',
  },
]

export const cityViews: NewView[] = [
  {
    name: 'Megacities',
    type: 'grid',
    config: { columns: ['name', 'country', 'population', 'kind'] },
    filters: [{ column: 'population', compare: '>=', value: 10_000_000 }],
    order_by: 'population',
    order_dir: 'D',
    is_table_default: true,
  },
  {
    name: 'Capitals',
    type: 'grid',
    filters: [{ column: 'kind', compare: '=', value: 'Capital' }],
    order_by: 'name',
  },
]

export const holidayViews: NewView[] = [
  { name: 'Calendar', type: 'calendar', config: { startField: 'date', endField: 'until', secondaryField: 'country', mode: 'month' } },
  {
    name: 'Next 30 days',
    type: 'grid',
    filters: [
      { column: 'date', compare: '>=', value: 'today' },
      { column: 'date', compare: '<=', value: '+30d' },
    ],
    order_by: 'date',
    is_table_default: true,
  },
]

/** The view that `npm run demo` queries. */
export const DUE_VIEW = 'Due this week'

export const contactViews: NewView[] = [
  {
    name: DUE_VIEW,
    type: 'grid',
    config: { columns: ['name', 'company', 'stage', 'next_contact', 'owner'] },
    filters: [{ column: 'next_contact', compare: '<=', value: 'end_of_week' }, ...isOpen],
    order_by: 'next_contact',
    is_table_default: true,
  },
  {
    name: 'My open deals',
    type: 'grid',
    filters: [{ column: 'owner', compare: '=', value: '@me' }, ...isOpen],
    order_by: 'value',
    order_dir: 'D',
  },
  {
    name: 'To look after',
    type: 'grid',
    filter: {
      all: [
        ...isOpen,
        {
          any: [
            { column: 'next_contact', compare: '<', value: 'today' },
            { column: 'next_contact', compare: 'is_empty' },
          ],
        },
      ],
    },
    order: [{ field: 'stage' }, { field: 'value', dir: 'D' }],
  },
  { name: 'Pipeline', type: 'kanban', config: { categoryField: 'stage', secondaryField: 'company' }, order_by: 'value', order_dir: 'D' },
  { name: 'Next contacts', type: 'calendar', config: { startField: 'next_contact', colorField: 'stage', weekStart: 'monday' } },
  { name: 'Documents', type: 'gallery', config: { imageField: 'documents', secondaryField: 'company' } },
]
