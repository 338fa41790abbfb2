package carillon.store;

import carillon.model.TenantId;
import org.jspecify.annotations.Nullable;

/** The record of what people and programs changed, written in the transaction that changed it. */
final class Audit {

  private Audit() {}

  private static final String RECORD =
      """
      /* Audit.record */
      INSERT INTO carillon.audit (tenant, who, action, subject, detail)
      VALUES (?, ?, ?, ?, ?::jsonb)
      """;

  static void record(
      Tx tx, TenantId tenant, String who, String action, String subject, @Nullable String detail) {
    tx.update(RECORD, tenant, who, action, subject, detail);
  }
}
