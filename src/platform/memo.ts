/**
 * Remembers what a function makes of an object for as long as that object lives. Objects that are never changed, such as the definition
 * of one version of a table, so carry what is derived from them, and nothing has to be invalidated.
 * @param make must depend on nothing but the object
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
