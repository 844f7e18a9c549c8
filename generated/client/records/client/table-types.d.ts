/**
 * The types of records that a `Schema` gives the typed client: what a field of each type reads, takes and is compared with. They are named
 * here and not in `src/fields/types/`, because the package of the client has nothing of the server. A type that is missing here, which a
 * later release may have, is read as `unknown` and compared with anything.
 */
/** What `gridpost-client types` writes of each table. */
export interface TableTypes {
    /** A row of `records.query`: the value of each field by its id. */
    record: object;
    /** The type of each field, such as `select`. */
    types: object;
    /** The ids of the fields that a new record must have. */
    required: PropertyKey;
    /** The ids of the fields that nobody writes: the key and the calculated ones. */
    calculated: PropertyKey;
    /** The names of the saved views by id. */
    views: object;
    /** The tables that the lookups refer to, by the ids of the lookups; absent without lookups. */
    links?: object;
}
type Numeric = number | `${number}`;
/** A member: an id, an address or `@me`, or an object with an id or an address, such as a record has. */
type Member = number | string | {
    id: number;
    email?: string | null;
    name?: string;
} | {
    email: string;
    name?: string;
};
type Linked = number | {
    id: number;
    title?: string | null;
};
/** A file as an upload answers it. Only its path is read. */
type Uploaded = {
    path: string;
    name?: string;
    size?: number;
    type?: string;
    host?: string;
};
type ElementOf<List> = List extends readonly (infer Element)[] ? Element : never;
/** What a field of a type takes. A type that is missing takes what it reads. */
interface Written<Value> {
    number: Numeric | null;
    multi_select: readonly ElementOf<Value>[] | null;
    user: Member | null;
    multi_user: readonly Member[] | null;
    lookup: Linked | null;
    multi_lookup: readonly Linked[] | null;
    file: readonly Uploaded[] | null;
}
type WrittenAs<Type, Value> = Type extends keyof Written<Value> ? Written<Value>[Type] : Value;
type WritableOf<Table extends TableTypes> = Exclude<keyof Table['record'], Table['calculated']>;
type ValueFor<Table extends TableTypes, Field extends keyof Table['record']> = Field extends keyof Table['types'] ? WrittenAs<Table['types'][Field], Table['record'][Field]> : never;
/** The `data` of a new record. */
export type NewData<Table extends TableTypes> = {
    [Field in WritableOf<Table> as Field extends Table['required'] ? Field : never]: NonNullable<ValueFor<Table, Field>>;
} & {
    [Field in WritableOf<Table> as Field extends Table['required'] ? never : Field]?: ValueFor<Table, Field> | null | undefined;
};
/** The `data` of an update: a required field may be left out, and not be emptied. */
export type ChangedData<Table extends TableTypes> = {
    [Field in WritableOf<Table>]?: Field extends Table['required'] ? NonNullable<ValueFor<Table, Field>> | undefined : ValueFor<Table, Field> | null | undefined;
};
/** The `data` of a record: all fields but the key and the calculated ones. */
export type DataOf<Table> = Table extends TableTypes ? {
    [Field in WritableOf<Table>]: Table['record'][Field];
} : never;
type Equality = '=' | '!=';
type Order = '>' | '<' | '>=' | '<=';
type Part = 'contains' | 'starts_with' | 'ends_with';
/** Compares of a type with the value that they take. */
interface Rule<Compare, Value> {
    compare: Compare;
    value: Value;
}
type Emptiness = Rule<'is_empty' | 'is_not_empty', null | undefined>;
type OfText = Rule<Equality | Order | Part, string> | Emptiness;
/** A date or time as text, or a date token such as `-7d`. */
type OfTime = Rule<Equality | Order, string> | Emptiness;
/** The conditions of each type (docs/queries.md, Compares and values by type). */
interface Rules {
    text: OfText;
    long_text: OfText;
    email: OfText;
    url: OfText;
    phone: OfText;
    number: Rule<Equality | Order, Numeric> | Rule<'contains', number | string> | Emptiness;
    checkbox: Rule<Equality, boolean>;
    date: OfTime;
    datetime: OfTime;
    time: OfTime;
    user: Rule<Equality, number | string> | Rule<Part, string> | Emptiness;
    multi_user: Rule<Equality | 'contains', number | string> | Emptiness;
    lookup: Rule<Equality, number> | Rule<Part, string> | Emptiness;
    multi_lookup: Rule<Equality | 'contains', number> | Emptiness;
    file: Rule<'contains', string> | Emptiness;
}
type OfOption<Option> = Rule<Equality, Option> | Rule<Part, string> | Emptiness;
type OfOptions<Option> = Rule<Equality | 'contains', Option> | Emptiness;
type RulesOf<Table extends TableTypes, Field extends keyof Table['types']> = Table['types'][Field] extends keyof Rules ? Rules[Table['types'][Field]] : Table['types'][Field] extends 'select' ? OfOption<NonNullable<ValueOf<Table, Field>>> : Table['types'][Field] extends 'multi_select' ? OfOptions<ElementOf<ValueOf<Table, Field>>> : Rule<string, unknown>;
type ValueOf<Table extends TableTypes, Field> = Field extends keyof Table['record'] ? Table['record'][Field] : never;
/** The other spellings of each compare, which are taken in any case. */
interface Spellings {
    '=': 'EQ';
    '!=': 'NE' | 'NEQ';
    '>': 'GT';
    '<': 'LT';
    '>=': 'GTE';
    '<=': 'LTE';
    contains: 'C' | 'CONTAINS';
    starts_with: 'SW' | 'STARTS_WITH';
    ends_with: 'EW' | 'ENDS_WITH';
    is_empty: 'EMPTY' | 'IS_EMPTY';
    is_not_empty: 'NEMPTY' | 'IS_NOT_EMPTY';
}
type Spelled<Compare> = Compare extends keyof Spellings ? Compare | Spellings[Compare] | Lowercase<Spellings[Compare]> : Compare;
type Nothing = null | undefined;
/** Interfaces, because a table has two for each rule of each field, and hundreds of intersections are slow. `field` means `column`. */
interface ColumnCompared<Field, Compare, Value, Connector> {
    column: Field;
    field?: Nothing;
    compare: Compare;
    value: Value;
    connector?: Connector | undefined;
}
interface FieldCompared<Field, Compare, Value, Connector> {
    field: Field;
    column?: Nothing;
    compare: Compare;
    value: Value;
    connector?: Connector | undefined;
}
interface ColumnTested<Field, Compare, Connector> {
    column: Field;
    field?: Nothing;
    compare: Compare;
    value?: Nothing;
    connector?: Connector | undefined;
}
interface FieldTested<Field, Compare, Connector> {
    field: Field;
    column?: Nothing;
    compare: Compare;
    value?: Nothing;
    connector?: Connector | undefined;
}
type Asked<Field, Its, Connector> = Its extends Emptiness ? ColumnTested<Field, Spelled<Its['compare']>, Connector> | FieldTested<Field, Spelled<Its['compare']>, Connector> : Its extends Rule<infer Compare, infer Value> ? ColumnCompared<Field, Spelled<Compare>, Value, Connector> | FieldCompared<Field, Spelled<Compare>, Value, Connector> : never;
type Conditions<Table, Connector> = Table extends TableTypes ? {
    [Field in keyof Table['types']]: Asked<Field, RulesOf<Table, Field>, Connector>;
}[keyof Table['types']] | Listed<Table, Connector> | OnLinked<LinkedRules<LinksOf<Table>>, Connector> : never;
type OnLinked<Linked, Connector> = Linked extends {
    field: infer Field;
    rules: infer Rules;
} ? Asked<Field, Rules, Connector> : never;
/** The fields that take lists of the same values, because a condition for each of them would be hundreds. */
interface ListedFields<Table> {
    texts: {
        field: AnyOf<Table, TextType | TimeType>;
        value: string;
    };
    numbers: {
        field: AnyOf<Table, 'number'>;
        value: Numeric;
    };
    user: {
        field: AnyOf<Table, 'user'>;
        value: number | string;
    };
    users: {
        field: AnyOf<Table, 'multi_user'>;
        value: number | string;
        all: true;
    };
    record: {
        field: AnyOf<Table, 'lookup'>;
        value: number;
    };
    records: {
        field: AnyOf<Table, 'multi_lookup'>;
        value: number;
        all: true;
    };
}
type Lists<Table> = ListedFields<Table>[keyof ListedFields<Table>] | OptionLists<Table> | LinkedOptionLists<LinksOf<Table>>;
type OptionLists<Table> = Table extends TableTypes ? {
    [Field in FieldsOf<Table, OptionType> & string]: Field extends keyof Table['record'] ? Table['types'][Field] extends 'select' ? {
        field: Field;
        value: NonNullable<Table['record'][Field]>;
    } : {
        field: Field;
        value: ElementOf<Table['record'][Field]>;
        all: true;
    } : never;
}[FieldsOf<Table, OptionType> & string] : never;
type Listed<Table, Connector> = ListedAs<Lists<Table>, Connector>;
type ListedAs<List, Connector> = List extends {
    field: infer Field;
    value: infer Value;
} ? ListCondition<Value, List, Connector> & ({
    column: Field;
    field?: Nothing;
} | {
    field: Field;
    column?: Nothing;
}) : never;
interface ListCondition<Value, List, Connector> {
    compare: Spelled<Equality>;
    value: readonly Value[];
    all?: List extends {
        all: true;
    } ? boolean | Nothing : Nothing;
    connector?: Connector | undefined;
}
/** One of `filters`. */
export type FilterOf<Table> = Conditions<Table, 'AND' | 'OR' | 'and' | 'or' | null>;
type GroupOf<Table> = {
    all: readonly TreeOf<Table>[];
} | {
    any: readonly TreeOf<Table>[];
} | {
    not: TreeOf<Table>;
};
/** The `filter`: a condition or a group. */
export type TreeOf<Table> = GroupOf<Table> | Conditions<Table, undefined>;
type Shortened<Its> = Its extends Emptiness ? readonly [Spelled<Its['compare']>, null?] : Its extends Rule<infer Compare, infer Value> ? ('=' extends Compare ? Value : never) | readonly [Spelled<Compare>, Value] : never;
/** The short form of conditions that must all hold. */
export type WhereOf<Table> = Table extends TableTypes ? {
    [Field in keyof Table['types']]?: Shortened<RulesOf<Table, Field>> | undefined;
} & WhereLinked<LinksOf<Table>> : never;
type WhereLinked<Links> = {
    [Name in LinkedExcept<Links, 'file'>]?: Shortened<RulesNamed<Links, Name>> | undefined;
};
/** A condition as a view answers it, which can be sent as it is. */
type Saved<Field, Its> = Its extends Emptiness ? {
    column: Field;
    compare: Its['compare'];
} : Its extends Rule<infer Compare, infer Value> ? {
    column: Field;
    compare: Compare;
    value: Value;
} : never;
type SavedCondition<Table> = Table extends TableTypes ? {
    [Field in keyof Table['types']]: Saved<Field, RulesOf<Table, Field>>;
}[keyof Table['types']] | SavedList<Lists<Table>> | SavedOnLinked<LinkedRules<LinksOf<Table>>> : never;
type SavedOnLinked<Linked> = Linked extends {
    field: infer Field;
    rules: infer Rules;
} ? Saved<Field, Rules> : never;
type SavedList<List> = List extends {
    field: infer Field;
    value: infer Value;
} ? {
    column: Field;
    compare: Equality;
    value: Value[];
    all?: List extends {
        all: true;
    } ? true : never;
} : never;
export type SavedFilter<Table> = SavedCondition<Table> & {
    connector: 'AND' | 'OR';
};
type SavedGroup<Table> = {
    all: SavedTree<Table>[];
} | {
    any: SavedTree<Table>[];
} | {
    not: SavedTree<Table>;
};
export type SavedTree<Table> = SavedGroup<Table> | SavedCondition<Table>;
type TextType = 'text' | 'long_text' | 'email' | 'url' | 'phone';
type TimeType = 'date' | 'datetime' | 'time';
type OptionType = 'select' | 'multi_select';
type NoLinks = Record<never, never>;
/** The tables that fields may be named of as `<lookup>.<field>`, by the ids of the lookups. */
type LinksOf<Table> = Table extends {
    links: infer Links;
} ? Links : NoLinks;
/** Those of lookups alone, without multi_lookups. */
type SingleLinks<Table> = Table extends {
    links: infer Links;
    types: infer Types;
} ? {
    [Lookup in keyof Links as Lookup extends keyof Types ? (Types[Lookup] extends 'lookup' ? Lookup : never) : never]: Links[Lookup];
} : NoLinks;
type NameIn<Lookup extends string, Field> = `${Lookup}.${Field & string}`;
/** The names of the linked fields whose type is among these. */
type LinkedNames<Links, Types> = {
    [Lookup in keyof Links & string]: NameIn<Lookup, FieldsOf<Links[Lookup], Types>>;
}[keyof Links & string];
/** The names of the linked fields whose type is none of these. */
type LinkedExcept<Links, Types> = {
    [Lookup in keyof Links & string]: NameIn<Lookup, FieldsExcept<Links[Lookup], Types>>;
}[keyof Links & string];
/** The ids and the names of the fields whose type is among these. */
type AnyOf<Table, Types> = FieldsOf<Table, Types> | LinkedNames<LinksOf<Table>, Types>;
/** The rules of linked fields: one for all fields that have it, because the rules of each field would be thousands. */
interface LinkedKinds<Links> {
    compared: {
        field: LinkedNames<Links, TextType | TimeType>;
        rules: Rule<Equality | Order, string>;
    };
    parts: {
        field: LinkedNames<Links, TextType | 'select' | 'user' | 'lookup'>;
        rules: Rule<Part, string>;
    };
    numbers: {
        field: LinkedNames<Links, 'number'>;
        rules: Rule<Equality | Order, Numeric> | Rule<'contains', number | string>;
    };
    checkbox: {
        field: LinkedNames<Links, 'checkbox'>;
        rules: Rule<Equality, boolean>;
    };
    user: {
        field: LinkedNames<Links, 'user'>;
        rules: Rule<Equality, number | string>;
    };
    users: {
        field: LinkedNames<Links, 'multi_user'>;
        rules: Rule<Equality | 'contains', number | string>;
    };
    record: {
        field: LinkedNames<Links, 'lookup'>;
        rules: Rule<Equality, number>;
    };
    records: {
        field: LinkedNames<Links, 'multi_lookup'>;
        rules: Rule<Equality | 'contains', number>;
    };
    emptiness: {
        field: LinkedExcept<Links, 'checkbox' | 'file'>;
        rules: Emptiness;
    };
    later: {
        field: LinkedExcept<Links, keyof Rules | OptionType>;
        rules: Rule<string, unknown>;
    };
}
type LinkedRules<Links> = LinkedKinds<Links>[keyof LinkedKinds<Links>] | OptionRules<LinkedOptionLists<Links>>;
type OptionRules<List> = List extends {
    field: infer Field;
    value: infer Value;
    all: infer All;
} ? {
    field: Field;
    rules: Rule<All extends true ? Equality | 'contains' : Equality, Value>;
} : never;
type LinkedOptionLists<Links> = {
    [Lookup in keyof Links & string]: ListsIn<Lookup, OptionLists<Links[Lookup]>>;
}[keyof Links & string];
type ListsIn<Lookup extends string, List> = List extends {
    field: infer Field;
    value: infer Value;
} ? {
    field: NameIn<Lookup, Field>;
    value: Value;
    all: List extends {
        all: true;
    } ? true : false;
} : never;
type RulesIn<Table, Field> = Table extends TableTypes ? (Field extends keyof Table['types'] ? RulesOf<Table, Field> : never) : never;
type RulesNamed<Links, Name> = Name extends `${infer Lookup}.${infer Field}` ? Lookup extends keyof Links ? RulesIn<Links[Lookup], Field> : never : never;
/** The names of all fields of linked records. */
export type LinkedOf<Table> = LinkedExcept<LinksOf<Table>, never>;
/** The value of a field in a row, by its id or, for a field of linked records, by its name. */
export type ValueNamed<Table, Name> = Name extends keyof At<Table, 'record'> ? At<Table, 'record'>[Name] : ValueLinked<Table, Name>;
type ValueLinked<Table, Name> = Name extends `${infer Lookup}.${infer Field}` ? At<At<Table, 'types'>, Lookup> extends 'multi_lookup' ? ValueOfLink<Table, Lookup, Field>[] : OrNull<ValueOfLink<Table, Lookup, Field>> : never;
type ValueOfLink<Table, Lookup, Field> = At<At<At<LinksOf<Table>, Lookup>, 'record'>, Field>;
/** Without a linked record a checkbox is false, and a list empty. */
type OrNull<Value> = Value extends boolean | readonly unknown[] ? Value : Value | null;
export type At<Whole, Key> = Key extends keyof Whole ? Whole[Key] : never;
/** The ids of the fields by their type. Computed once for a table, where a test of each field would be repeated for each question. */
type ByType<Types> = {
    [Field in keyof Types as Types[Field] & string]: Field;
};
/** The ids of the fields whose type is among these. */
type FieldsOf<Table, Types> = Table extends TableTypes ? Among<ByType<Table['types']>, Types> : never;
type Among<Fields, Types> = Fields[Extract<keyof Fields, Types>];
type FieldsExcept<Table, Types> = Table extends TableTypes ? NotAmong<ByType<Table['types']>, Types> : never;
type NotAmong<Fields, Types> = Fields[Exclude<keyof Fields, Types>];
type ListType = 'multi_select' | 'multi_user' | 'multi_lookup' | 'file';
export type SortableOf<Table> = FieldsExcept<Table, ListType> | LinkedExcept<SingleLinks<Table>, ListType>;
type UngroupedType = 'number' | 'time' | 'long_text' | 'file';
/** The fields that records/aggregate groups by. */
export type SummedByOf<Table> = FieldsExcept<Table, UngroupedType> | LinkedExcept<SingleLinks<Table>, UngroupedType>;
type CountedType = 'select' | 'user' | 'checkbox' | 'date' | 'datetime';
export type GroupableOf<Table> = FieldsOf<Table, CountedType> | LinkedNames<SingleLinks<Table>, CountedType>;
type BoardedType = 'select' | 'user' | 'lookup' | 'checkbox';
/** The fields whose values are the columns of a board. */
export type BoardedByOf<Table> = FieldsOf<Table, BoardedType> | LinkedNames<SingleLinks<Table>, BoardedType>;
export {};
