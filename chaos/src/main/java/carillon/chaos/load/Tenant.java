package carillon.chaos.load;

/**
 * One of the tenants that share the cluster and must never see data of each other.
 *
 * @param marker occurs in all payloads of the tenant
 * @param key an API key with the role owner
 * @param secret signs its deliveries; base64
 */
public record Tenant(String name, String marker, String key, String secret) {}
