/** A shop that confirms each order later, with the Carillon starter. */
package shop;
