package carillon.model;

/** The number of a tenant inside the database; its name is for people. */
public record TenantId(int value) {

  /** The tenant that always exists. */
  public static final TenantId DEFAULT = new TenantId(1);
}
