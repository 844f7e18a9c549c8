/** Which installed packages are there for some of the direct dependencies alone, by the lock file of npm (lockfileVersion 3). */

/** A package as the lock file has it; the one at `''` is the project itself. */
export interface LockedPackage {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  /** A package that only development needs. */
  dev?: boolean
}

/** Packages by their folder, such as `node_modules/vite/node_modules/postcss`. */
export type LockedPackages = Record<string, LockedPackage>

/**
 * The folders of packages that nothing but the named dependencies of the project needs, in the order of the lock file.
 * @param names direct dependencies, such as those of a build
 */
export function neededOnlyBy(names: readonly string[], packages: LockedPackages): string[] {
  const project = packages[''] ?? {}
  const direct = Object.keys({ ...project.dependencies, ...project.optionalDependencies })
  const kept = reachable(
    direct.filter((name) => !names.includes(name)),
    packages,
  )
  return [...reachable(names, packages)].filter((folder) => !kept.has(folder))
}

function reachable(names: readonly string[], packages: LockedPackages): Set<string> {
  const found = new Set<string>()
  const follow = (from: string, needed: readonly string[]): void => {
    for (const name of needed) {
      const folder = folderOf(name, from, packages)
      if (folder === undefined || found.has(folder)) continue
      found.add(folder)
      follow(folder, needsOf(packages[folder]))
    }
  }
  follow('', names)
  return found
}

/** The names that a package imports. An optional peer is used if somebody else brings it, so it is not needed. */
function needsOf({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: LockedPackage = {}): string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** Where Node finds the package: in the nearest `node_modules` on the way up. Undefined for an optional one that is not installed. */
function folderOf(name: string, from: string, packages: LockedPackages): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    const folder = `${at && `${at}/`}node_modules/${name}`
    if (packages[folder]) return folder
    if (!at) return undefined
  }
}
