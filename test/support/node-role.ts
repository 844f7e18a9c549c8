/** The role of nodes in tests (elsewhere.ts). It belongs to the whole server, so it is made once. */
export const NODE_ROLE = 'gridpost_test_node'
