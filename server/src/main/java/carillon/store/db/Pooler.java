package carillon.store.db;

/** The connection pooler between a node and PostgreSQL. */
public enum Pooler {
  /** None: a connection is a session of the server and keeps its settings. */
  NONE,
  /**
   * Assigns a session to each transaction, as PgBouncer does in transaction mode: session state may
   * be seen by other clients.
   */
  TRANSACTION
}
