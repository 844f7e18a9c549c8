/**
 * The calls of the typed client that a `Schema` gives the types of its tables. For the id of a table that the Schema does not have, and for
 * one that is only known to be a number, a call has the types that it has without a Schema.
 */
import type {
  At,
  BoardedByOf,
  ChangedData,
  DataOf,
  FilterOf,
  GroupableOf,
  LinkedOf,
  NewData,
  SavedFilter,
  SavedTree,
  SortableOf,
  SummedByOf,
  TableTypes,
  TreeOf,
  ValueNamed,
  WhereOf,
} from './table-types.ts'

/** A call of the client without a Schema. Only its input, its options and its output are taken from there. */
type Call = (input: never, options?: never) => Promise<unknown>
type Asked<Name extends string> = Record<Name, { query: Call }>
type Sent<Name extends string> = Record<Name, { mutate: Call }>

type Input<Base extends Call> = Parameters<Base>[0]
type Output<Base extends Call> = Awaited<ReturnType<Base>>
type Options<Base extends Call> = Parameters<Base>[1]
/** The promise of a call with another output. tRPC's own promises know the type of their errors, for its function `safe`. */
type Answer<Base extends Call, Result> = Promise<Result> & Omit<ReturnType<Base>, keyof Promise<unknown>>
type RowOf<Page> = Page extends { rows: (infer Row)[] } ? Row : never

/** The types of a table; unknown if the Schema does not have it. */
type TableOf<Schema, Id> = [Id] extends [keyof Schema] ? Schema[Id] : unknown
/**
 * The first for a table of the Schema, otherwise the second. `Table` is a type parameter of each call, which is never inferred but by
 * default that of the id: while an id is inferred, a type that depends on it stands for those of all tables together, which takes long.
 */
type IfKnown<Table, Then, Else> = [Table] extends [TableTypes] ? Then : Else

// ── inputs ──────────────────────────────────────────────────────────────────

type Nullable<Value> = Value | null | undefined
type AnyView = Nullable<number>

/** Takes an id that is only known to be a number as it is. One that is written down must be the id of a view in the Schema. */
type ViewId<Table, View> = number extends View ? View : IfKnown<Table, KnownView<keyof At<Table, 'views'>, View>, View>
type KnownView<Known, View> = View extends Nullable<0 | Known> ? View : 0 | Known

interface Conditions<Base, Table> {
  filters?: IfKnown<Table, Nullable<readonly FilterOf<Table>[]>, At<Base, 'filters'>>
  filter?: IfKnown<Table, Nullable<TreeOf<Table>>, At<Base, 'filter'>>
}
interface Ordering<Base, Table> {
  order_by?: IfKnown<Table, Nullable<SortableOf<Table>>, At<Base, 'order_by'>>
  order?: IfKnown<Table, Nullable<readonly SortKey<Table>[]>, At<Base, 'order'>>
}
interface SortKey<Table> {
  field: SortableOf<Table>
  dir?: Nullable<'A' | 'D' | 'a' | 'd'>
  nulls?: Nullable<'first' | 'last'>
}

// The keys are written down, so that the compiler leaves them out once and not for each table.
type Condition = 'filters' | 'filter'
type Narrowing = Condition | 'table_id' | 'view_id' | 'where'
type Sorting = 'order_by' | 'order'

interface Narrowed<Base, Id, Table, View> extends Conditions<Base, Table> {
  table_id: Id
  view_id?: ViewId<Table, View>
  where?: IfKnown<Table, Nullable<WhereOf<Table>>, At<Base, 'where'>>
}
type Queried<Base, Id, Table, View> = Omit<Base, Narrowing | Sorting | 'fields'> & Narrowed<Base, Id, Table, View> & Ordering<Base, Table>
type Grouped<Base, Id, Table, View, Field> = Omit<Base, Narrowing | 'by'> & Narrowed<Base, Id, Table, View> & { by: Field }
type Summed<Base, Id, Table, View> = Omit<Base, Narrowing | 'by' | 'measures'> &
  Narrowed<Base, Id, Table, View> & {
    by?: IfKnown<Table, Nullable<readonly WithField<Element<At<Base, 'by'>>, SummedByOf<Table>>[]>, At<Base, 'by'>>
    measures: IfKnown<Table, readonly WithField<Element<At<Base, 'measures'>>, OwnFieldOf<Table>>[], At<Base, 'measures'>>
  }
type Element<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never
/** The part with the ids of fields in place of any text. */
type WithField<Part, Field> = Part extends { field: string }
  ? Omit<Part, 'field'> & { field: Field }
  : Omit<Part, 'field'> & { field?: Nullable<Field> }
type InTable<Base, Id> = Omit<Base, 'table_id'> & { table_id: Id }
type WithData<Base, Id, Data> = Omit<Base, 'table_id' | 'data'> & { table_id: Id; data: Data }
type Viewed<Base, Id, Table> = Omit<Base, 'table_id' | Condition | Sorting> & { table_id: Id } & Conditions<Base, Table> &
  Ordering<Base, Table>
type OfView<Base, Table, View> = Omit<Base, 'view_id'> & { view_id: ViewId<Table, View> }

/** The ids of the fields of a row. */
type OwnFieldOf<Table> = IfKnown<Table, keyof At<Table, 'record'> & string, string>
/** The same, and the names of the fields of linked records. */
type FieldOf<Table> = IfKnown<Table, (keyof At<Table, 'record'> & string) | LinkedOf<Table>, string>
type GroupField<Table> = IfKnown<Table, GroupableOf<Table> & string, string>
type BoardField<Table> = IfKnown<Table, BoardedByOf<Table> & string, string>
type New<Base, Table> = IfKnown<Table, NewData<Extract<Table, TableTypes>>, At<Base, 'data'>>
type Changed<Base, Table> = IfKnown<Table, ChangedData<Extract<Table, TableTypes>>, At<Base, 'data'>>

// ── outputs ─────────────────────────────────────────────────────────────────

/** The row with the chosen fields: all of them without a choice, or any of them if the choice is not known. */
type Chosen<Table, Row, Fields> = Fields extends readonly (infer Field)[]
  ? number extends Fields['length']
    ? { [Key in keyof Row as Key extends 'id' ? Key : never]: Row[Key] } & { [Key in Exclude<keyof Row, 'id'>]?: Row[Key] } & {
        [Name in LinkedIn<Field>]?: ValueNamed<Table, Name>
      }
    : Fields['length'] extends 0
      ? Row
      : { [Key in keyof Row as Key extends Field | 'id' ? Key : never]: Row[Key] } & { [Name in LinkedIn<Field>]: ValueNamed<Table, Name> }
  : Row
type LinkedIn<Field> = Extract<Field, `${string}.${string}`>
/** What a query includes beside the fields. */
interface BesideRow {
  _version: number
  _badges: { open_tasks: number; overdue_tasks: number; comments: number; unread: number | null }
}
/** What is included; each may be missing if the names are only known when the program runs. */
type Beside<Include> = Include extends readonly (infer Name)[]
  ? number extends Include['length']
    ? Partial<BesideRow>
    : { [Key in keyof BesideRow as Key extends `_${Name & string}` ? Key : never]: BesideRow[Key] }
  : unknown
type Includable = Nullable<readonly ('version' | 'badges')[]>
type WithRows<Base, Row> = Omit<Base, 'rows'> & { rows: Row[] }
type Page<Base, Table, Fields, Include> = WithRows<
  Base,
  IfKnown<Table, Chosen<Table, At<Table, 'record'>, Fields> & Beside<Include>, RowOf<Base>>
>
type RecordOf<Base, Table> = IfKnown<Table, Omit<Base, 'data'> & { data: DataOf<Table> }, Base>
/** The values of groups are those of rows. */
type GroupOf<Base, Table, Field> = IfKnown<Table, Omit<Base, 'value'> & { value: ValueNamed<Table, Field> }, Base>
type ViewOf<Base, Table> = IfKnown<Table, Omit<Base, Condition | Sorting> & SavedView<Table>, Base>
interface SavedView<Table> {
  filters: SavedFilter<Table>[]
  filter?: SavedTree<Table>
  order_by: SortableOf<Table> | null
  order?: { field: SortableOf<Table>; dir: 'A' | 'D' }[]
}

// ── calls ───────────────────────────────────────────────────────────────────

interface QueryCall<Base extends Call, Schema> {
  query: <
    Id extends number,
    Table = TableOf<Schema, Id>,
    const Fields extends Nullable<readonly FieldOf<Table>[]> = undefined,
    View extends AnyView = AnyView,
    const Include extends Includable = undefined,
  >(
    input: Queried<Omit<Input<Base>, 'include'>, Id, Table, View> & { fields?: Fields; include?: Include },
    options?: Options<Base>,
  ) => Answer<Base, Page<Output<Base>, Table, Fields, Include>>
}
/** `records.explain` and `records.count`, whose answers are the same for all tables. */
interface NarrowedCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Queried<Input<Base>, Id, Table, View> & { fields?: Nullable<readonly FieldOf<Table>[]> },
    options?: Options<Base>,
  ) => ReturnType<Base>
}
interface GroupsCall<Base extends Call, Schema> {
  query: <Id extends number, Field extends GroupField<Table>, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Grouped<Input<Base>, Id, Table, View, Field>,
    options?: Options<Base>,
  ) => Answer<Base, WithRows<Output<Base>, GroupOf<RowOf<Output<Base>>, Table, Field>>>
}
interface BoardCall<Base extends Call, Schema> {
  query: <
    Id extends number,
    Field extends BoardField<Table>,
    Table = TableOf<Schema, Id>,
    const Fields extends Nullable<readonly FieldOf<Table>[]> = undefined,
    View extends AnyView = AnyView,
    const Include extends Includable = undefined,
  >(
    input: Queried<Omit<Input<Base>, 'include' | 'by'>, Id, Table, View> & { by: Field; fields?: Fields; include?: Include },
    options?: Options<Base>,
  ) => Answer<Base, WithRows<Output<Base>, Page<GroupOf<RowOf<Output<Base>>, Table, Field>, Table, Fields, Include>>>
}
interface NeighboursCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Omit<Input<Base>, Narrowing | Sorting> & Narrowed<Input<Base>, Id, Table, View> & Ordering<Input<Base>, Table>,
    options?: Options<Base>,
  ) => ReturnType<Base>
}
interface AggregateCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Summed<Input<Base>, Id, Table, View>,
    options?: Options<Base>,
  ) => ReturnType<Base>
}
interface GetCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>>(
    input: InTable<Input<Base>, Id>,
    options?: Options<Base>,
  ) => Answer<Base, RecordOf<Output<Base>, Table>>
}
interface CreateCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>>(
    input: WithData<Input<Base>, Id, New<Input<Base>, Table>>,
    options?: Options<Base>,
  ) => Answer<Base, RecordOf<Output<Base>, Table>>
}
interface UpdateCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>>(
    input: WithData<Input<Base>, Id, Changed<Input<Base>, Table>>,
    options?: Options<Base>,
  ) => Answer<Base, RecordOf<Output<Base>, Table>>
}
interface CreateBatchCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>>(
    input: InTable<Omit<Input<Base>, 'records'>, Id> & { records: readonly { data: New<{ data: Record<string, unknown> }, Table> }[] },
    options?: Options<Base>,
  ) => Answer<Base, WithRows<Output<Base>, RecordOf<RowOf<Output<Base>>, Table>>>
}
interface UpdateBatchCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>>(
    input: InTable<Omit<Input<Base>, 'records'>, Id> & {
      records: readonly { id: number; data: Changed<{ data: Record<string, unknown> }, Table>; version?: Nullable<number> }[]
    },
    options?: Options<Base>,
  ) => Answer<Base, WithRows<Output<Base>, RecordOf<RowOf<Output<Base>>, Table>>>
}
interface UpdateWhereCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Omit<Input<Base>, Narrowing | 'data'> & Narrowed<Input<Base>, Id, Table, View> & { data: Changed<Input<Base>, Table> },
    options?: Options<Base>,
  ) => ReturnType<Base>
}
interface DeleteWhereCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>, View extends AnyView = AnyView>(
    input: Omit<Input<Base>, Narrowing> & Narrowed<Input<Base>, Id, Table, View>,
    options?: Options<Base>,
  ) => ReturnType<Base>
}
interface ViewListCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>>(
    input: InTable<Input<Base>, Id>,
    options?: Options<Base>,
  ) => Answer<Base, WithRows<Output<Base>, ViewOf<RowOf<Output<Base>>, Table>>>
}
interface ViewGetCall<Base extends Call, Schema> {
  query: <Id extends number, View extends number, Table = TableOf<Schema, Id>>(
    input: OfView<InTable<Input<Base>, Id>, Table, View>,
    options?: Options<Base>,
  ) => Answer<Base, ViewOf<Output<Base>, Table>>
}
interface ViewCheckCall<Base extends Call, Schema> {
  query: <Id extends number, Table = TableOf<Schema, Id>>(
    input: Viewed<Input<Base>, Id, Table>,
    options?: Options<Base>,
  ) => Answer<Base, ViewOf<Output<Base>, Table>>
}
interface ViewCreateCall<Base extends Call, Schema> {
  mutate: <Id extends number, Table = TableOf<Schema, Id>>(
    input: Viewed<Input<Base>, Id, Table>,
    options?: Options<Base>,
  ) => Answer<Base, ViewOf<Output<Base>, Table>>
}
interface ViewUpdateCall<Base extends Call, Schema> {
  mutate: <Id extends number, View extends number, Table = TableOf<Schema, Id>>(
    input: OfView<Viewed<Input<Base>, Id, Table>, Table, View>,
    options?: Options<Base>,
  ) => Answer<Base, ViewOf<Output<Base>, Table>>
}
interface ViewDeleteCall<Base extends Call, Schema> {
  mutate: <Id extends number, View extends number, Table = TableOf<Schema, Id>>(
    input: OfView<InTable<Input<Base>, Id>, Table, View>,
    options?: Options<Base>,
  ) => ReturnType<Base>
}

/** The parts of the client that a Schema gives other types. */
export interface UntypedCalls {
  records: Asked<'get' | 'query' | 'explain' | 'count' | 'groups' | 'aggregate' | 'board' | 'neighbours'> &
    Sent<'create' | 'update' | 'createBatch' | 'updateBatch' | 'updateWhere' | 'deleteWhere'>
  views: Asked<'list' | 'get' | 'check'> & Sent<'create' | 'update' | 'delete'>
}

/** The client with the types of the tables of a Schema. */
export type TypedCalls<Base extends UntypedCalls, Schema> = Omit<Base, keyof UntypedCalls> & {
  records: Omit<Base['records'], keyof UntypedCalls['records']> & TypedRecords<Base['records'], Schema>
  views: Omit<Base['views'], keyof UntypedCalls['views']> & TypedViews<Base['views'], Schema>
}
interface TypedRecords<Base extends UntypedCalls['records'], Schema> {
  get: GetCall<Base['get']['query'], Schema>
  query: QueryCall<Base['query']['query'], Schema>
  explain: NarrowedCall<Base['explain']['query'], Schema>
  count: NarrowedCall<Base['count']['query'], Schema>
  groups: GroupsCall<Base['groups']['query'], Schema>
  board: BoardCall<Base['board']['query'], Schema>
  neighbours: NeighboursCall<Base['neighbours']['query'], Schema>
  aggregate: AggregateCall<Base['aggregate']['query'], Schema>
  create: CreateCall<Base['create']['mutate'], Schema>
  update: UpdateCall<Base['update']['mutate'], Schema>
  createBatch: CreateBatchCall<Base['createBatch']['mutate'], Schema>
  updateBatch: UpdateBatchCall<Base['updateBatch']['mutate'], Schema>
  updateWhere: UpdateWhereCall<Base['updateWhere']['mutate'], Schema>
  deleteWhere: DeleteWhereCall<Base['deleteWhere']['mutate'], Schema>
}
interface TypedViews<Base extends UntypedCalls['views'], Schema> {
  list: ViewListCall<Base['list']['query'], Schema>
  get: ViewGetCall<Base['get']['query'], Schema>
  check: ViewCheckCall<Base['check']['query'], Schema>
  create: ViewCreateCall<Base['create']['mutate'], Schema>
  update: ViewUpdateCall<Base['update']['mutate'], Schema>
  delete: ViewDeleteCall<Base['delete']['mutate'], Schema>
}
