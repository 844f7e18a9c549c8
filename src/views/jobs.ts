import { type Work, work } from '../work.ts'
import { build, buildLayoutIndex } from './layout-indexes.ts'

export const viewWorks: Work[] = [work(buildLayoutIndex, build, { concurrency: 1 })]
