package carillon.model.cluster;

/**
 * One period of leadership.
 *
 * @param number rises with every change of leader, so a lower number is a past term
 * @param node the leader in this term
 */
public record Term(long number, String node) {}
