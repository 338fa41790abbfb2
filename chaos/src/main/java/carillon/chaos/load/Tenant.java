package carillon.chaos.load;

/**
 * One of those who share the cluster and must never see each other's things.
 *
 * @param marker stands in all its payloads
 * @param key may do everything in it
 * @param secret with which its deliveries are signed, in base64
 */
public record Tenant(String name, String marker, String key, String secret) {}
