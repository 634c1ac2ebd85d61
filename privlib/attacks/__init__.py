"""Attacks: lower bounds of the privacy loss of the project's own samplers, and membership in a network's training set.

The samplers
------------
``bounds`` turns errors into lower bounds and plans the number of trials, ``audit`` scores into errors, ``one_run``
guesses about many records of one release into a bound. ``likelihood`` is the strongest distinguisher of paths.
``games`` are neighbouring worlds under the samplers, ``suite`` the list of them, ``mutants`` samplers that are broken
on purpose (an audit that lets those pass is worthless), ``assumed`` a denoiser with a sensitivity taken as given.

Trained networks
----------------
``targets`` are networks with images that they were trained on and images that they were not, ``chain`` the levels that
attacks on diffusion models are written for, ``membership`` the errors by which they tell the two apart, ``learned`` a
model on maps of such errors. ``scoring`` says what scores are worth, ``repeated`` does so over several seeds. Nothing
is claimed for such a network, so nothing is refuted; that an attack fails shows no privacy.

What an audit says
------------------
A bound above a claim refutes the claim (or an event of probability ``1 - confidence`` has happened). A bound below it
proves nothing: the record, the neighbours or the number of trials may have been the wrong ones. Nor do these attacks
look at the last bits of floating-point numbers, at time, or at the random generator: what ``samplers.noise`` lists as
not claimed is not tested here either. Scores are sums of float64 numbers; their rounding, some 1e-13, moves a trial
across a threshold only if it lies that close, and cannot turn a bound into a wrong one: any test bounds epsilon.
"""
