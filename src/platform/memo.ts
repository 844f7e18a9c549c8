/**
 * Remembers the result of a function for an object as long as the object lives. It is for objects that never change, such as the definition
 * of one version of a table, so that no result has to be invalidated.
 * @param make computes the result; it must depend on the object alone
 */
export function memo<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, { value: Value }>()
  return (key) => {
    const known = values.get(key)
    if (known) return known.value
    const value = make(key)
    values.set(key, { value })
    return value
  }
}
