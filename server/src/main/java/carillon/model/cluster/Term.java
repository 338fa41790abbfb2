package carillon.model.cluster;

/**
 * One stretch of leading the cluster.
 *
 * @param number rises with every change of hands, so a lower one is over
 * @param node who leads in it
 */
public record Term(long number, String node) {}
