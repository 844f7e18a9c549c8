/** The value of a field in a row, by the type of the field (contract.md §3). */
const VALUES = {
    text: () => 'string | null',
    long_text: () => 'string | null',
    email: () => 'string | null',
    url: () => 'string | null',
    phone: () => 'string | null',
    number: ({ key }) => (key ? 'number' : 'number | null'),
    checkbox: () => 'boolean',
    date: () => 'string | null',
    datetime: ({ calc }) => (calc ? 'string' : 'string | null'),
    time: () => 'string | null',
    select: ({ options = [] }) => [...options.map(literal), 'null'].join(' | '),
    multi_select: ({ options = [] }) => `(${options.map(literal).join(' | ') || 'never'})[]`,
    user: () => `${USER} | null`,
    multi_user: () => `${USER}[]`,
    lookup: () => `${LINK} | null`,
    multi_lookup: () => `${LINK}[]`,
    file: () => '{ name: string; path: string; size: number; type: string; host: string }[]',
};
/** An erased user has no address. */
const USER = '{ id: number; email: string | null; name: string }';
const LINK = '{ id: number; title: string | null }';
/**
 * Returns the text of a declaration file: an interface for the rows of each table, and `Schema`. The same tables give the same text.
 * @param command how the file is made again
 */
export function declarationsOf(tables, command) {
    const sorted = tables.toSorted((a, b) => a.id - b.id);
    const names = interfaceNames(sorted);
    const schema = sorted.map((table) => schemaEntry(table, names));
    return [
        `// The tables of a Gridpost service. When one of them has changed, make the file again:\n//   ${inComment(command)}\n`,
        ...sorted.map((table) => rowInterface(table, names)),
        `/** The tables by id, for \`createClient<Schema>\`. */\nexport interface Schema {\n${schema.join('')}}\n`,
    ].join('\n');
}
function rowInterface({ id, name, fields }, names) {
    const lines = fields.map((field) => `  /** ${describe(field, names)} */\n  ${property(field.id)}: ${typeOf(field)}\n`);
    return `/** A record of table ${id}, ${inComment(name)}. */\nexport interface ${names.get(id)} {\n${lines.join('')}}\n`;
}
const typeOf = (field) => VALUES[field.type]?.(field) ?? 'unknown';
function describe({ name, type, required, admin_only, table }, names) {
    const target = table === undefined ? '' : ` of ${names.get(table) ?? `table ${table}`}`;
    const flags = [required && 'required', admin_only && 'written by admins only'].filter(Boolean);
    return inComment(`${name}: ${[`${type}${target}`, ...flags].join(', ')}`);
}
function schemaEntry({ id, name, fields, views }, tables) {
    // The Default view, with the id 0, is there for every table.
    const saved = views.filter((view) => view.id !== 0);
    const links = fields.flatMap((field) => (tables.has(field.table ?? 0) ? `      ${property(field.id)}: Schema[${field.table}]\n` : []));
    const types = fields.map((field) => `      ${property(field.id)}: ${literal(field.type)}\n`);
    // Who may not write a field need not give it a value, so one that only admins write may be left out.
    const required = fields.filter((field) => field.required && !field.admin_only && !isSetByService(field));
    const lines = [
        `    record: ${tables.get(id)}\n`,
        `    types: {\n${types.join('')}    }\n`,
        ...(links.length ? [`    links: {\n${links.join('')}    }\n`] : []),
        `    required: ${unionOf(required.map((field) => field.id))}\n`,
        `    calculated: ${unionOf(fields.filter(isSetByService).map((field) => field.id))}\n`,
        `    views: {${saved.map((view) => `\n      ${view.id}: ${literal(view.name)}`).join('')}${saved.length ? '\n    ' : ''}}\n`,
    ];
    return `  /** ${inComment(name)} */\n  ${id}: {\n${lines.join('')}  }\n`;
}
const isSetByService = ({ key, calc }) => Boolean(key || calc);
const unionOf = (ids) => ids.map(literal).join(' | ') || 'never';
/** Names each interface after its table; those that would have the same name end in the id of their table. */
function interfaceNames(tables) {
    const wanted = tables.map(({ id, name }) => ({ id, name: pascalCase(name) || `Table${id}` }));
    const isTaken = (name, id) => name === 'Schema' || wanted.some((other) => other.name === name && other.id !== id);
    return new Map(wanted.map(({ id, name }) => [id, isTaken(name, id) ? `${name}_${id}` : name]));
}
/** `sales leads (EU)` becomes `SalesLeadsEU`. A name must not begin with a digit. */
function pascalCase(name) {
    const words = name.normalize('NFC').match(/[\p{L}\p{Mn}\p{Mc}\p{Nd}]+/gu) ?? [];
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    return /^\p{L}/u.test(joined) || joined === '' ? joined : `Table${joined}`;
}
const property = (id) => (/^[A-Za-z_$][\w$]*$/.test(id) ? id : literal(id));
/** A text as a literal of TypeScript, in single quotes. JSON escapes line breaks and other control characters. */
function literal(text) {
    const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
    return `'${inner.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;
}
/** A text that neither ends the comment nor its line. */
const inComment = (text) => text.replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').replaceAll('*/', '* /');
