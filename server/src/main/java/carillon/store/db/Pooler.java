package carillon.store.db;

/** The connection pooler between a node and PostgreSQL. */
public enum Pooler {
  /** None: a connection is a session of the server and keeps its settings. */
  NONE,
  /**
   * One that gives every transaction a session of its choice, as PgBouncer's transaction mode does:
   * what outlives a transaction is somebody else's.
   */
  TRANSACTION
}
